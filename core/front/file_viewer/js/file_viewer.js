// SPDX-License-Identifier: MIT
//
// Draws the pages of a document: the text of each canvas as lines on it. Only visible
// pages take the memory of a picture.

const draw = c => {
    c.width = 816;
    c.height = 1056;
    const g = c.getContext('2d'),
        lines = c.textContent.split('\n');
    let size = Math.min(16, 960 / lines.length / 1.3),
        wide = 0;
    const font = () => {
        g.font = size + 'px sans-serif';
    };
    font();
    for (const l of lines) wide = Math.max(wide, g.measureText(l).width);
    if (wide > 720) size *= 720 / wide;
    font();
    lines.forEach((l, i) => g.fillText(l, 48, 48 + size * 1.3 * i));
};
const seen = new IntersectionObserver(
    all =>
        all.forEach(e => {
            if (e.isIntersecting) draw(e.target);
            else e.target.width = 0;
        }),
    { rootMargin: '1200px' },
);
document.querySelectorAll('canvas').forEach(c => seen.observe(c));
