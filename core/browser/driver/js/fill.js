// SPDX-License-Identifier: MIT
//
// Waits until a field can be filled, and prepares it in the same call.

async function fill(need, ms, value) {
    const why = await ready.call(this, need, ms);
    return why && why !== 'late' ? why : prepareFill.call(this, value);
}
