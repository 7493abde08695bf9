// SPDX-License-Identifier: MIT
//
// Begins the problem of a MiniWoB++ page with a seed. Elements for people are removed
// from the page except while its own script uses them. Returns [address, text of the
// problem].

async function taskBegin(seed, ms) {
    if (typeof core !== 'object' || !core.startEpisodeReal)
        throw new Error('it is not a page of MiniWoB: it has no core.startEpisodeReal');
    const at = id => document.getElementById(id);
    let away = [],
        words = [],
        depth = 0;
    const hide = () => {
        core.clearTimer();
        document.body.removeEventListener('click', core.canvasDrawClick);
        words = [...at('query').childNodes];
        at('query').replaceChildren();
        away = ['reward-display', 'click-canvas', 'sync-task-cover']
            .map(at)
            .filter(e => e);
        for (const e of away) e.remove();
    };
    const show = () => {
        at('query').replaceChildren(...words);
        document.body.append(...away);
        core.createDisplay();
    };
    for (const name of ['getUtterance', 'endEpisode', 'startEpisodeReal']) {
        const plain = core[name];
        core[name] = function (...a) {
            if (!depth++) show();
            try {
                return plain.apply(this, a);
            } finally {
                if (!--depth) hide();
            }
        };
    }
    hide();
    Math.seedrandom(seed);
    core.EPISODE_MAX_TIME = 1000000;
    core.startEpisodeReal();
    for (
        const end = performance.now() + ms;
        !WOB_TASK_READY;
        await new Promise(r => setTimeout(r, 20))
    )
        if (performance.now() > end)
            throw new Error('its WOB_TASK_READY does not become true');
    const said = core.getUtterance();
    return [location.href, '' + (said.utterance ?? said)];
}
