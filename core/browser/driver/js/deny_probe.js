// SPDX-License-Identifier: MIT
//
// Asks for an address that only the proxy of denied addresses knows.

function denyProbe(address) {
    return fetch(address, { mode: 'no-cors' }).catch(() => 0);
}
