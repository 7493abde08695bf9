// SPDX-License-Identifier: MIT
//
// Draws marks into a picture: d is the picture in base64, t its type, m a list of
// [x, y, width, height, text]. Boxes are dashed; tags are white on black at their corners.
// Returns the new picture in base64.

async function drawMarks(d, t, m) {
    const i = await createImageBitmap(
        new Blob([Uint8Array.from(atob(d), c => c.charCodeAt(0))]),
    );
    const W = i.width,
        H = i.height,
        c = new OffscreenCanvas(W, H),
        g = c.getContext('2d');
    g.drawImage(i, 0, 0);
    g.lineWidth = 2;
    g.setLineDash([4, 8]);
    for (const [x, y, w, h] of m) g.strokeRect(x, y, w, h);
    g.setLineDash([]);
    g.lineWidth = 1;
    g.strokeStyle = '#fff';
    g.font = '12px sans-serif';
    g.textBaseline = 'middle';
    for (const [x, y, , , s] of m) {
        const w = Math.ceil(g.measureText(s).width) + 6,
            X = Math.max(0, Math.min(x, W - w)),
            Y = Math.max(0, Math.min(y - 5, H - 18));
        g.fillStyle = '#000';
        g.fillRect(X, Y, w, 18);
        g.strokeRect(X + 0.5, Y + 0.5, w - 1, 17);
        g.fillStyle = '#fff';
        g.fillText(s, X + 3, Y + 9);
    }
    const u = new Uint8Array(
        await (await c.convertToBlob({ type: t, quality: 0.9 })).arrayBuffer(),
    );
    i.close();
    c.width = c.height = 0;
    let s = '';
    for (let k = 0; k < u.length; k += 8192)
        s += String.fromCharCode(...u.subarray(k, k + 8192));
    return btoa(s);
}
