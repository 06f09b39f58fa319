'use strict';
const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
const enlarged = () => document.querySelector('.sample:target');
const follow = (link) => { if (link) location.hash = link.getAttribute('href'); };

// While a figure is enlarged, the keyboard stays in it; afterwards it is where it was.
addEventListener('hashchange', () => {
  for (const figure of all('.sample[role=dialog]')) {
    figure.removeAttribute('role');
    figure.removeAttribute('aria-modal');
  }
  const figure = enlarged();
  if (figure) {
    figure.setAttribute('role', 'dialog');
    figure.setAttribute('aria-modal', 'true');
    figure.querySelector('.close').focus();
  } else {
    document.querySelector('.open:target')?.focus({preventScroll: true});
  }
});
addEventListener('keydown', (event) => {
  const figure = enlarged();
  if (!figure) return;
  const links = all('.controls a', figure);
  if (event.key === 'Escape') follow(figure.querySelector('.close'));
  else if (event.key === 'ArrowLeft') follow(figure.querySelector('.before'));
  else if (event.key === 'ArrowRight') follow(figure.querySelector('.after'));
  else if (event.key === 'Tab') {
    const next = links.indexOf(document.activeElement) + (event.shiftKey ? -1 : 1);
    links[(next + links.length) % links.length].focus();
  } else return;
  event.preventDefault();
});
// In a page within a page (a notebook), a link to a place would leave it.
addEventListener('click', (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link) {
    event.preventDefault();
    follow(link);
  } else if (event.target.matches('.sample:target')) {
    follow(event.target.querySelector('.close'));
  }
});

const filter = document.getElementById('filter');
if (filter) {
  document.getElementById('filter-bar').hidden = false;
  filter.addEventListener('input', () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const each of all('[data-class]'))
      each.hidden = !each.dataset.class.toLowerCase().includes(wanted);
    // In the sheet of a class, all samples are of it: they hide and show with it.
    const rows = all('#classes tbody tr');
    const shown = rows.filter((row) => !row.hidden).length;
    document.getElementById('filter-count').value =
        wanted ? `${shown} of ${rows.length} classes shown` : '';
  });
}

const valueOf = (cell, isNumber) => {
  const text = cell.dataset.value ?? cell.textContent;
  return isNumber ? Number(text.replaceAll(',', '') || 'NaN') : text;
};
const compare = (one, other) => {
  if (typeof one === 'string') return one.localeCompare(other, 'en', {numeric: true});
  if (Number.isNaN(one)) return Number.isNaN(other) ? 0 : -1;
  return Number.isNaN(other) ? 1 : one - other;
};
for (const table of all('table.sortable')) {
  const heads = all('thead th', table);
  heads.forEach((head, column) => {
    const isNumber = head.classList.contains('number');
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const was = head.getAttribute('aria-sort') ?? (isNumber ? 'ascending' : 'descending');
      const isUp = was === 'descending';
      for (const each of heads) each.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
      const body = table.tBodies[0];
      const rows = Array.from(body.rows, (row) => [valueOf(row.cells[column], isNumber), row]);
      rows.sort((one, other) => (isUp ? 1 : -1) * compare(one[0], other[0]));
      body.append(...rows.map((each) => each[1]));
    });
  });
}

for (const code of all('pre.code')) {
  if (!navigator.clipboard) break;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    const copied = navigator.clipboard.writeText(code.textContent);
    button.textContent = await copied.then(() => 'Copied', () => 'Not allowed here');
  });
  code.before(button);
}
