// Of an element's colours: their numbers, how light they are, and what is behind a text.
const parts = text => (text.match(/[0-9.]+/g) || []).map(Number);
const light = ([r, g, b]) => [r, g, b].map(x => x / 255)
  .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
  .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
const behind = one => {
  for (let at = one; at; at = at.parentElement) {
    const colour = parts(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
