"""What of torchvision's transforms is translated, and to what: shale._views against the real classes."""

import inspect

import pytest
import shale
import torch
from conftest import real_torchvision
from shale._views import flattened, is_pipeline, translate

real_torchvision()
from shale.torch import transforms as own
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, v2

pytestmark = pytest.mark.filterwarnings("ignore:The transform `ToTensor:UserWarning")
THREE = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
RATIO = (3 / 4, 4 / 3)
RRC = ("random_resized_crop", 224, 224, 0.08, 1.0, *RATIO)

STEPS: list = [
    (lambda T: T.RandomResizedCrop(224), [RRC]),
    (lambda T: T.RandomResizedCrop((100, 200), scale=(0.5, 0.9), ratio=(1, 2)), [("random_resized_crop", 200, 100, 0.5, 0.9, 1.0, 2.0)]),
    (lambda T: T.Resize(256), [("resize_shorter", 256, 0)]),
    (lambda T: T.Resize([256], max_size=300), [("resize_shorter", 256, 300)]),
    (lambda T: T.Resize((10, 20)), [("resize", 20, 10)]),
    (lambda T: T.CenterCrop(224), [("center_crop", 224, 224)]),
    (lambda T: T.CenterCrop((10, 20)), [("center_crop", 20, 10)]),
    (lambda T: T.RandomCrop(32), [("random_crop", 32, 32, 0, 0, 0, 0, False)]),
    (lambda T: T.RandomCrop((32, 40), padding=4), [("random_crop", 40, 32, 4, 4, 4, 4, False)]),
    (lambda T: T.RandomCrop(32, padding=(1, 2)), [("random_crop", 32, 32, 1, 2, 1, 2, False)]),
    (lambda T: T.RandomCrop(32, padding=(1, 2, 3, 4), pad_if_needed=True), [("random_crop", 32, 32, 1, 2, 3, 4, True)]),
    (lambda T: T.RandomHorizontalFlip(), [("flip", True, 0.5)]),
    (lambda T: T.RandomVerticalFlip(0.25), [("flip", False, 0.25)]),
]


@pytest.mark.parametrize("T", [v1, v2, own], ids=["v1", "v2", "own"])
@pytest.mark.parametrize("make, steps", STEPS, ids=[str(steps[0]) for _, steps in STEPS])
def test_geometry_becomes_steps_with_all_parameters(T, make, steps):
    plan = translate(make(T))

    assert plan.steps == steps
    assert plan.rest == [] and plan.reason == ""
    assert plan.kernel == "triangle"
    assert plan.takes_samples is (T is v2)


@pytest.mark.parametrize("name", own.__all__)
def test_own_transforms_have_the_parameters_and_defaults_of_torchvision(name):
    ours, theirs = (inspect.signature(getattr(T, name)).parameters for T in (own, v2))

    assert list(ours) == list(theirs)
    for each in ours:
        default = theirs[each].default
        if (name, each) == ("ConvertImageDtype", "dtype"):  # torch is not imported for it
            assert ours[each].default is None and own.ConvertImageDtype().dtype is default
        else:
            assert ours[each].default == default, each


def pipelines(T):
    """Usual ones, and the dtype that each ends in."""
    random = [T.RandomResizedCrop(64), T.RandomHorizontalFlip()]
    as_v2 = [] if T is v1 else [
        [T.ToImage(), T.ToDtype(torch.uint8, scale=True), *random, T.ToDtype(torch.float32, scale=True), T.Normalize(*THREE)],
        [*random, T.ToImage(), T.ToDtype(torch.float16, scale=True), T.Normalize(*THREE)],
        [*random, T.ToImage(), T.ToDtype(torch.bfloat16, scale=True), T.Normalize(*THREE)],
        [*random, T.ToImage(), T.ToDtype(torch.float32), T.Normalize([127.0], [50.0])],
        [T.ToImage(), T.RGB(), *random],
    ]
    return [
        [*random, T.ToTensor(), T.Normalize(*THREE)],
        [*random, T.PILToTensor(), T.ConvertImageDtype(torch.float32), T.Normalize(*THREE)],
        [*random, T.PILToTensor()],
        [T.ToTensor(), T.RandomCrop(10), T.Normalize(*THREE), T.RandomVerticalFlip()],
        [T.Resize(256), T.CenterCrop(224), T.Grayscale(1), T.ToTensor(), T.Normalize([0.5], [0.25])],
        *as_v2,
    ]


@pytest.mark.parametrize("T", [v1, v2, own], ids=["v1", "v2", "own"])
def test_levels_become_what_the_transforms_make_of_them_to_the_bit(T):
    for each in pipelines(T):
        plan = translate(T.Compose(each))
        assert plan.rest == [], (plan.reason, each)
        values = [one for one in each if type(one).__name__ not in ("RandomResizedCrop", "RandomCrop", "Resize", "CenterCrop", "Grayscale")]
        values = [one for one in values if "Flip" not in type(one).__name__]
        channels = plan.channels
        levels = torch.arange(256, dtype=torch.uint8).repeat(channels, 8, 1)  # as many as vector code takes
        image = v2.functional.to_pil_image(levels)
        for one in values:
            image = one(image)
        made = image if isinstance(image, torch.Tensor) else v2.functional.pil_to_tensor(image)

        assert plan.table.dtype == made.dtype
        for row in range(8):
            assert torch.equal(plan.table.view(torch.uint8), made[:, row].contiguous().as_subclass(torch.Tensor).view(torch.uint8)), each


def test_own_transforms_agree_with_torchvision_on_a_tensor():
    for ours, theirs in zip(pipelines(own), pipelines(v2)):
        first, second = translate(own.Compose(ours)), translate(v2.Compose(theirs))
        assert first.steps == second.steps
        assert torch.equal(first.table, second.table), ours
        assert torch.equal(first.fill, second.fill)


class MyCrop(v2.RandomResizedCrop):
    """Somebody's own."""


LEFT: list = [
    (lambda: [v2.RandomResizedCrop(8), v2.ColorJitter(0.1), v2.ToImage()], 1, "not among"),
    (lambda: [MyCrop(8)], 0, "not among"),
    (lambda: [v2.RandomHorizontalFlip(), lambda image: image], 1, "not among"),
    (lambda: [v1.ToTensor(), v1.Resize(8)], 1, "float32 already"),
    (lambda: [v2.ToImage(), v2.ToDtype(torch.float32), v2.RandomResizedCrop(8)], 2, "float32 already"),
    (lambda: [v2.ToImage(), v2.ToDtype(torch.float32), v2.Grayscale()], 2, "float32 already"),
    (lambda: [v2.ToImage(), v2.ToDtype(torch.float64)], 1, "float64"),
    (lambda: [v2.ToImage(), v2.ToDtype({tv_tensors.Image: torch.float32})], 1, "dictionary"),
    (lambda: [v2.PILToTensor(), v2.Normalize(*THREE)], 1, "raises TypeError"),
    (lambda: [v2.Normalize(*THREE)], 0, "not a tensor yet"),
    (lambda: [v2.ToImage(), v2.Resize(8, antialias=False)], 1, "antialias"),
    (lambda: [v2.ToImage(), v2.Resize(8, interpolation="nearest")], 1, "nearest"),
    (lambda: [v2.Resize(8, interpolation="lanczos")], 0, "lanczos"),
    (lambda: [v2.Resize(8), v2.Resize(4, interpolation=InterpolationMode.BICUBIC)], 1, "another way"),
    (lambda: [v2.RandomCrop(8, padding=1, padding_mode="reflect")], 0, "reflect"),
    (lambda: [v2.RandomCrop(8, padding=1, fill={tv_tensors.Image: 3})], 0, "fill"),
    (lambda: [v2.RandomCrop(8, padding=1, fill=7), v2.CenterCrop(9)], 1, "another color"),
    (lambda: [v2.RandomCrop(8, padding=1, fill=(1, 2, 3)), v2.Grayscale()], 1, "has a color"),
    (lambda: [v2.ToImage(), v2.Grayscale(), v2.ToDtype(torch.float32), v2.Normalize(*THREE)], 3, "number of channels"),
    (lambda: [v1.ToTensor(), v1.ToTensor()], 1, "already"),
]


@pytest.mark.parametrize("make, taken, reason", LEFT, ids=[str(number) for number in range(len(LEFT))])
def test_what_cannot_be_followed_stays_in_python_with_all_behind_it(make, taken, reason):
    each = make()

    plan = translate(v2.Compose(each))

    assert plan.taken == each[:taken]
    assert plan.rest == each[taken:]
    assert reason in plan.reason


def test_interpolation_is_taken_as_enum_string_and_pillow_number():
    for way, kernel in [(InterpolationMode.BICUBIC, "cubic"), ("bicubic", "cubic"), (3, "cubic"), (2, "triangle"), ("nearest", "nearest")]:
        assert translate(v2.Resize(8, interpolation=way)).kernel == kernel
    exact = v2.Compose([v2.ToImage(), v2.Resize(8, interpolation=InterpolationMode.NEAREST_EXACT)])
    assert translate(exact).kernel == "nearest"


def test_a_compose_in_a_compose_is_one_list():
    inner = v1.Compose([v1.RandomHorizontalFlip(), v2.Compose([v2.ToImage()])])

    assert [type(each) for each in flattened(v2.Compose([v2.Resize(8), inner]))] == [v2.Resize, v1.RandomHorizontalFlip, v2.ToImage]


def test_padding_is_what_the_transforms_behind_it_make_of_the_fill():
    plan = translate(v1.Compose([v1.RandomCrop(8, padding=2, fill=51), v1.ToTensor(), v1.Normalize([0.5], [0.5])]))
    assert plan.fill.tolist() == pytest.approx([-0.6] * 3) and plan.mask_fill == 51
    late = translate(v1.Compose([v1.ToTensor(), v1.Normalize(*THREE), v1.CenterCrop(8)]))
    assert late.fill.tolist() == [0, 0, 0]


def test_gray_has_one_channel_or_three_equal_ones():
    one = translate(v2.Compose([v2.Grayscale(), v2.ToImage()]))
    three = translate(v2.Compose([v2.ToImage(), v2.Grayscale(3), v2.ToDtype(torch.float32, scale=True), v2.Normalize(*THREE)]))
    again = translate(v2.Compose([v2.Grayscale(), v2.ToImage(), v2.RGB()]))

    assert (one.channels, one.is_gray, one.table.shape) == (1, False, (1, 256))
    assert (three.channels, three.is_gray, three.rest) == (3, True, [])
    assert (again.channels, again.is_gray, again.rest) == (3, True, [])


def test_steps_behind_those_that_can_be_done_together_stay_in_python():
    each = [v2.RandomResizedCrop(32), v2.ToImage(), v2.Resize(8), v2.ToDtype(torch.float32)]

    plan = translate(v2.Compose(each), most_steps=1)

    assert (plan.taken, plan.rest) == (each[:2], each[2:])
    assert plan.table.dtype == torch.uint8


def test_functions_and_other_classes_are_not_pipelines():
    assert is_pipeline(v2.Compose([v2.ColorJitter()])) and is_pipeline(v1.Compose([])) and is_pipeline(own.ToTensor())
    for other in (lambda sample: sample, v2.ColorJitter(), MyCrop(8), torch.nn.Identity(), None):
        assert not is_pipeline(other)


def test_what_hooks_or_replaced_methods_change_is_left_to_python():
    hooked, replaced, inner = (v2.Compose([v2.CenterCrop(16), v2.ToImage()]) for _ in range(3))
    hooked.register_forward_hook(lambda module, given, made: made)
    replaced.forward = lambda *given: given[0]
    inner.transforms[0].transform = lambda image, params: image

    for compose in (hooked, replaced, inner, v2.Compose([hooked, v2.ToImage()])):
        assert translate(compose).taken == [] and is_pipeline(compose)
    assert translate(hooked).rest == [hooked] and translate(replaced).rest == [replaced]
    handle = torch.nn.modules.module.register_module_forward_hook(lambda module, given, made: None)
    assert translate(v2.Compose([v2.CenterCrop(16)])).taken == []
    handle.remove()
    assert len(translate(v2.Compose([v2.CenterCrop(16)])).taken) == 1


def test_a_wrong_parameter_of_our_own_transforms_is_refused():
    for make in (lambda: own.Resize(0), lambda: own.RandomCrop(8, padding=1, padding_mode="edge"), lambda: own.Grayscale(2), lambda: own.Compose([])):
        with pytest.raises(shale.errors.UsageError):
            make()
