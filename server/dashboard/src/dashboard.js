// Refreshes the panels from the stream, draws a cross-hair where the mouse is, hides what the legend is clicked for.
// Everything comes from the server escaped; what is made here is made as text.
'use strict';

const hidden = {};      // by panel: names that are hidden
let mouse = null;       // where it is, while it is over a chart

function plotOf(svg) { return svg && svg.querySelector('.plot'); }

function number(element, name) { return Number(element.getAttribute(name)); }

function points(series) {
  const text = series.dataset.points;
  return text ? text.split(' ').map(pair => pair.split(',').map(Number)) : [];
}

function isHidden(panel, name) { return hidden[panel.id] !== undefined && hidden[panel.id].has(name); }

function applyHidden(panel) {
  for (const element of panel.querySelectorAll('[data-series], [data-legend]')) {
    const name = element.dataset.series === undefined ? element.dataset.legend : element.dataset.series;
    element.classList.toggle('hidden', isHidden(panel, name));
  }
}

function toggle(panel, name) {
  const names = hidden[panel.id] || (hidden[panel.id] = new Set());
  if (!names.delete(name)) names.add(name);
  applyHidden(panel);
}

function clearCross() {
  for (const line of document.querySelectorAll('.cross')) line.remove();
  document.getElementById('tip').hidden = true;
}

function nearest(list, x) {
  let best = null;
  for (const point of list) {
    if (best === null || Math.abs(point[0] - x) < Math.abs(best[0] - x)) best = point;
  }
  return best;
}

function short(value) {
  const size = Math.abs(value);
  for (const [factor, prefix] of [[1e9, ' G'], [1e6, ' M'], [1e3, ' k'], [1, '']]) {
    if (size >= factor) return (value / factor).toFixed(2).replace(/\.?0+$/, '') + prefix;
  }
  return value === 0 ? '0' : value.toPrecision(3);
}

function drawCross() {
  clearCross();
  if (mouse === null) return;
  const under = document.elementFromPoint(mouse.x, mouse.y);
  const svg = under && under.closest('main svg');
  const plot = plotOf(svg);
  if (!plot) return;
  const box = svg.getBoundingClientRect();
  const scale = number(svg, 'width') / box.width;
  const px = (mouse.x - box.left) * scale;
  const left = number(plot, 'x'), width = number(plot, 'width');
  if (px < left || px > left + width) return;
  const from = number(plot, 'data-x-min'), to = number(plot, 'data-x-max');
  const x = from + (px - left) / width * (to - from);
  const panel = svg.closest('section');
  const found = [];
  let at = null;
  for (const series of svg.querySelectorAll('[data-series]')) {
    if (isHidden(panel, series.dataset.series)) continue;
    const point = nearest(points(series), x);
    if (point === null) continue;
    at = point[0];
    found.push([series.dataset.series, point[1]]);
  }
  if (at === null) return;
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
  const xs = left + (at - from) / (to - from) * width;
  const top = number(plot, 'y');
  for (const [name, value] of [['x1', xs], ['x2', xs], ['y1', top], ['y2', top + number(plot, 'height')]]) {
    line.setAttribute(name, value);
  }
  line.setAttribute('class', 'cross');
  svg.appendChild(line);
  const tip = document.getElementById('tip');
  const time = new Date(at * 1000).toISOString().slice(11, 19);
  tip.textContent = [time].concat(found.map(([name, value]) => short(value) + '  ' + name)).join('\n');
  tip.hidden = false;
  tip.style.left = Math.min(mouse.x + 14, window.innerWidth - tip.offsetWidth - 4) + 'px';
  tip.style.top = Math.min(mouse.y + 14, window.innerHeight - tip.offsetHeight - 4) + 'px';
}

function refresh(panel, html) {
  panel.innerHTML = html;
  applyHidden(panel);
  if (mouse !== null) drawCross();
}

function listen() {
  const state = document.getElementById('state');
  const stream = new EventSource('/events');
  for (const panel of document.querySelectorAll('section[id]')) {
    stream.addEventListener(panel.id, event => {
      refresh(panel, event.data);
      state.textContent = 'live';
      state.classList.remove('lost');
    });
  }
  stream.onerror = () => {
    // Between two streams the browser is connecting; who is refused, or finds nobody, is closed for good.
    if (stream.readyState !== EventSource.CLOSED) return;
    state.textContent = 'the server does not answer; trying again';
    state.classList.add('lost');
    setTimeout(listen, 3000);
  };
}

document.addEventListener('mousemove', event => { mouse = { x: event.clientX, y: event.clientY }; drawCross(); });
document.addEventListener('mouseleave', () => { mouse = null; clearCross(); });
document.addEventListener('click', event => {
  const entry = event.target.closest('[data-legend]');
  if (entry) toggle(entry.closest('section'), entry.dataset.legend);
});
listen();
