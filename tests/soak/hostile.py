"""Manifests that are valid in form, absurd in content, and sealed with a right hash of their own, by chance."""

from manifests import NUMBER, NUMBERS, OTHERS, TEXT, TEXTS, sealed


def hostile_manifest(whole, dice):
    text = whole
    for _ in range(dice.randint(1, 2)):
        body = text.rindex(b'"hash"')
        pattern, values = dice.choice(((NUMBER, NUMBERS), (NUMBER, NUMBERS), (TEXT, TEXTS), (TEXT, OTHERS), (NUMBER, OTHERS)))
        place = dice.choice(list(pattern.finditer(text, 0, body)))
        text = text[: place.start()] + dice.choice(values) + text[place.end() :]
    return sealed(text)
