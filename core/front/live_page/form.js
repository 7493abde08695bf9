// SPDX-License-Identifier: MIT
//
// The form in front of the page: a link's #once=TOKEN logs in. It first removes the token
// from the address.
(async () => {
    const once = new URLSearchParams(location.hash.slice(1)).get('once');
    if (!once)
        return;
    history.replaceState(null, '', './');
    const answer = await fetch('session', {
        method: 'POST',
        body: new URLSearchParams({ once }),
    });
    if (answer.ok)
        location.reload();
    else
        document.getElementById('why').textContent = (await answer.json()).error.message;
})();
