// SPDX-License-Identifier: MIT
/**
 * A client of `od serve`, in one file without dependencies: for Node 20 or newer, Deno, Bun,
 * and browsers (od serve --cors-origin).
 *
 *     import { Client } from "./client.ts";
 *
 *     const box = new Client({ url: "https://box.example/prefix", key: "..." });
 *     const shell = box.session();
 *     console.log((await shell.run("cd /src && make")).text);
 *
 * Outside of browsers the server's address and key may come from the environment:
 * OD_SERVER (https://HOST[:PORT]/PREFIX) and OD_SERVER_KEY.
 *
 * What a caller can rely on:
 *
 *  - Every call ends with a result or with an OdError, whose `code` names the kind of error.
 *  - An action runs once. Each has a name of its own, and after a lost connection the same
 *    action is sent again under the same name: the server answers with what it knows.
 *  - A stream (the output of a command, the event stream) continues after a lost connection
 *    where it stopped: nothing is missing and nothing comes twice.
 *  - Every message of the server is checked and has a maximum size.
 */

export const VERSION = 1;

const BODY_MAX = 16 << 20; // bytes of an answer that is kept in memory
const EVENT_MAX = 8 << 20; // bytes of one event of a stream
const OUTPUTS_MAX = 16; // commands whose output a stream can continue
const QUIET_MS = 25000; // a stream without a byte for this long is opened again
const CHUNK = 256 << 10; // bytes of one step of an upload

export type Json = Record<string, unknown>;
/** Bytes so far, and bytes in all if that is known. */
export type Progress = (done: number, size: number | undefined) => void;
/** Returns the answer to a question of a program; undefined: it keeps waiting. */
export type Answer = (waiting: Waiting) => string | undefined | Promise<string | undefined>;

/**
 * Why a call has no result. `code` is the server's (INVALID, NOTFOUND, EXISTS, DENIED, BUSY,
 * TIMEOUT, LIMIT, GONE, UNSUPPORTED, CANCELLED, IO, INTERNAL) or the connection's:
 * UNREACHABLE (no server answered yet), LOST (it did not come back in time), TLS (its
 * certificate is not trusted), PROTOCOL (it is not an od server), VERSION (it is another version).
 */
export class OdError extends Error {
    readonly code: string;
    readonly status: number;
    readonly event: Json | undefined;

    constructor(code: string, message: string, status = 0, event?: Json) {
        super(message);
        this.name = "OdError";
        this.code = code;
        this.status = status;
        this.event = event;
    }
}

/** A connection broke; the caller may try again. */
class Lost extends Error {
    readonly afterMs: number;

    constructor(message: string, afterMs = 0) {
        super(message);
        this.afterMs = afterMs;
    }
}

/** The question of a program or a cell that waits for input. */
export interface Waiting {
    /** The last line of the output. */
    prompt: string;
    /** The input must not be shown, as for a password. */
    hidden: boolean;
    state: string;
    program: string;
    pid: number;
}

/** The state of a command: it has ended, or it goes on. */
export interface Result {
    /** The action that began the command. */
    id: number;
    session: string;
    /** Its output since the last result. */
    text: string;
    /** null: it runs, or the code is unknown. */
    exitCode: number | null;
    /** It asks for input. */
    waiting: Waiting | null;
    /** "" if it has ended; else input, quiet or timeout. */
    why: string;
    ended: boolean;
    ok: boolean;
    /** The offset in the session's output up to which this result goes. */
    end: number;
    event: Json;
}

export interface Image {
    mediaType: string;
    data: Uint8Array;
}

/** The output of a cell: printed text, pictures, and its result. */
export interface CellResult {
    id: number;
    text: string;
    /** ok, error, timeout, died, failed */
    end: string;
    ok: boolean;
    images: Image[];
    kernel: string;
    why: string;
    event: Json;
}

/** A page of the web, as text, and as a picture if there is a browser. */
export interface Page {
    id: number;
    url: string;
    text: string;
    /** What went wrong in the browser; "" if nothing did. */
    error: string;
    screenshot: Image | null;
    event: Json;
}

export interface FileInfo {
    path: string;
    /** file, folder, link, pipe, socket, device */
    type: string;
    size: number;
    mode: string;
    mtime: number;
    /** Of a link. */
    target: string;
}

// ---- checks of the server's messages ----

function isObject(value: unknown): value is Json {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(text: string, what: string): Json {
    let value: unknown;
    try {
        value = JSON.parse(text);
    } catch {
        throw new OdError("PROTOCOL", `${what} is not JSON`);
    }
    if (!isObject(value))
        throw new OdError("PROTOCOL", `${what} is not a JSON object`);
    return value;
}

function wrong(name: string, wanted: string, value: unknown): OdError {
    return new OdError("PROTOCOL", `${name} in an answer must be ${wanted}, not ${typeof value}`);
}

/** The member of that name; without a default it must exist. */
function text(m: Json, name: string, dflt?: string): string {
    const value = m[name] ?? dflt;
    if (typeof value !== "string")
        throw wrong(name, "a string", value);
    return value;
}

function number(m: Json, name: string, dflt?: number): number {
    const value = m[name] ?? dflt;
    if (typeof value !== "number")
        throw wrong(name, "a number", value);
    return value;
}

function integer(m: Json, name: string, dflt?: number): number {
    const value = number(m, name, dflt);
    if (!Number.isSafeInteger(value))
        throw wrong(name, "a whole number", value);
    return value;
}

function flag(m: Json, name: string): boolean {
    const value = m[name] ?? false;
    if (typeof value !== "boolean")
        throw wrong(name, "true or false", value);
    return value;
}

function object(m: Json, name: string, dflt?: Json): Json {
    const value = m[name] ?? dflt;
    if (!isObject(value))
        throw wrong(name, "an object", value);
    return value;
}

function array(m: Json, name: string, dflt?: unknown[]): unknown[] {
    const value = m[name] ?? dflt;
    if (!Array.isArray(value))
        throw wrong(name, "an array", value);
    return value;
}

/** The error in {"error": {"code", "message"}}, or in V0's {"detail": …}. */
function errorOf(m: Json, status: number): OdError {
    if (isObject(m.error))
        return new OdError(text(m.error, "code"), text(m.error, "message"), status);
    const detail = typeof m.detail === "string" ? m.detail : JSON.stringify(m.detail ?? m);
    const codes: Record<number, string> = {
        400: "INVALID", 401: "DENIED", 403: "DENIED", 404: "NOTFOUND", 409: "BUSY", 422: "INVALID",
    };
    return new OdError(codes[status] ?? "IO", detail.slice(0, 500), status);
}

/** An observation; an error is thrown. */
function checked(event: Json): Json {
    const extras = object(event, "extras", {});
    integer(event, "id");
    integer(event, "cause");
    if (text(event, "observation") === "error") {
        const code = typeof extras.code === "string" ? extras.code : "INTERNAL";
        throw new OdError(code, text(event, "content", ""), 0, event);
    }
    return event;
}

/** A picture from its data URL. */
function imageOf(url: unknown): Image | null {
    const parts = typeof url === "string" ? /^data:([^;,]*)[^,]*,(.*)$/s.exec(url) : null;
    if (!parts)
        return null;
    let bytes: string;
    try {
        bytes = atob(parts[2] ?? "");
    } catch {
        throw new OdError("PROTOCOL", "a picture in an answer is not base64");
    }
    return { mediaType: parts[1] ?? "", data: Uint8Array.from(bytes, (c) => c.charCodeAt(0)) };
}

function waitingOf(event: Json, content: string): Waiting | null {
    if (event.waiting === undefined)
        return null;
    const w = object(event, "waiting");
    return {
        prompt: content.slice(content.lastIndexOf("\n") + 1), hidden: flag(w, "hidden"),
        state: text(w, "state", "unknown"), program: text(w, "program", ""),
        pid: integer(w, "pid", 0),
    };
}

function resultOf(event: Json): Result {
    const extras = object(event, "extras", {});
    const content = text(event, "content", "");
    const ended = "exit_code" in event;
    if (!ended && !("waiting" in event))
        throw new OdError("VERSION", "the server does not say how the command ended: it is " +
            "older than this client and does not know \"until\"");
    const exitCode = ended && event.exit_code !== null ? integer(event, "exit_code") : null;
    const why = ended ? "" : text(extras, "why", "timeout");
    const waiting = waitingOf(event, content);
    return {
        id: integer(extras, "command", integer(event, "cause")), ended, exitCode, why, event,
        session: text(event, "session", "main"), text: content, ok: exitCode === 0,
        waiting: why === "input" ? waiting : null,
        end: integer(object(event, "output", {}), "to", 0),
    };
}

function cellOf(event: Json): CellResult {
    const extras = object(event, "extras", {});
    const end = text(extras, "end");
    return {
        id: integer(event, "cause"), text: text(event, "content", ""), end, ok: end === "ok",
        images: array(extras, "images", []).map(imageOf).filter((i): i is Image => i !== null),
        kernel: text(extras, "kernel", ""), why: text(extras, "why", ""), event,
    };
}

function pageOf(event: Json): Page {
    const extras = object(event, "extras", {});
    return {
        id: integer(event, "cause"), url: text(extras, "url", ""),
        text: text(event, "content", ""), error: text(extras, "last_browser_action_error", ""),
        screenshot: imageOf(extras.screenshot), event,
    };
}

function fileOf(value: unknown): FileInfo {
    const m = isObject(value) ? value : {};
    return {
        path: text(m, "path"), type: text(m, "type"), size: integer(m, "size", 0),
        mode: text(m, "mode", ""), mtime: number(m, "mtime", 0), target: text(m, "target", ""),
    };
}

// ---- requests ----

/** 32 hex digits. Pages that came by plain HTTP do not have crypto.randomUUID. */
const newName = (): string => Array.from(crypto.getRandomValues(new Uint8Array(16)),
    (byte) => byte.toString(16).padStart(2, "0")).join("");

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

function environment(name: string): string | undefined {
    const process = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process;
    return process?.env?.[name];
}

const inBrowser = (): boolean => "document" in globalThis || "WorkerGlobalScope" in globalThis
    && !("Deno" in globalThis);

/** Errors of fetch which mean that no server is there. */
const NOBODY = /ECONNREFUSED|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|refused|dns error|bad port|port \d+ (is|are) blocked/i;

/** The error for a failed fetch. */
function failureOf(error: unknown): OdError | Lost {
    if (error instanceof OdError || error instanceof Lost)
        return error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const code = cause instanceof Error && "code" in cause && typeof cause.code === "string"
        ? cause.code : "";
    const words = `${code} ${cause instanceof Error ? cause.message : String(cause)}`.trim();
    if (/CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET)|UnknownIssuer|EPROTO|ERR_TLS|ERR_SSL|certificate/i.test(words))
        return new OdError("TLS", `TLS with the server failed: ${words}. If its certificate is ` +
            "not trusted and it is the right server, save the certificate of its issuer as a " +
            "file and name it: NODE_EXTRA_CA_CERTS=FILE (Node, Bun), DENO_CERT=FILE (Deno); a " +
            "browser has its own list");
    return new Lost(words || "the connection broke");
}

function isLoopback(host: string): boolean {
    return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" ||
        /^127\.\d+\.\d+\.\d+$/.test(host);
}

export interface ClientOptions {
    /** https://HOST[:PORT]/PREFIX, or http:// */
    url?: string;
    /** One of the server's keys. */
    key?: string;
    /** Seconds to connect, and of silence in an answer. */
    timeout?: number;
    /** Seconds for which a lost connection is retried. */
    patience?: number;
    /** Send the key without TLS to another machine. */
    insecure?: boolean;
}

interface Bodied {
    status: number;
    headers: Headers;
    /** The next bytes, undefined at the end. */
    read(): Promise<Uint8Array | undefined>;
    close(): void;
}

interface Asked {
    method?: string;
    headers?: Record<string, string>;
    body?: string | Blob | (() => ReadableStream<Uint8Array>);
    /** Milliseconds of silence. */
    quiet?: number;
}

/** A server. */
export class Client {
    readonly url: string;
    readonly patience: number;
    private readonly key: string;
    private readonly timeoutMs: number;
    private met = false;

    constructor(options: ClientOptions = {}) {
        const url = options.url ?? environment("OD_SERVER") ?? "";
        this.key = options.key ?? environment("OD_SERVER_KEY") ?? "";
        this.timeoutMs = (options.timeout ?? 30) * 1000;
        this.patience = options.patience ?? 60;
        let parts: URL | undefined;
        try {
            parts = new URL(url);
        } catch {
            parts = undefined;
        }
        if (!parts || !/^https?:$/.test(parts.protocol) || parts.search || parts.hash)
            throw new OdError("INVALID", "the server's address must be " +
                `https://HOST[:PORT]/PREFIX, not ${JSON.stringify(url)}`);
        if (!/^[\x20-\x7e]*$/.test(this.key))
            throw new OdError("INVALID", "a key has only printable ASCII characters");
        if (this.key && parts.protocol === "http:" && !options.insecure && !isLoopback(parts.hostname))
            throw new OdError("TLS", `the key is not sent to ${parts.hostname} without TLS: use ` +
                "https://, or insecure: true");
        this.url = `${parts.protocol}//${parts.host}${parts.pathname.replace(/\/+$/, "")}`;
    }

    /** The shell of that name. The server makes it when it is first used. */
    session(name = "main"): Session {
        return new Session(this, name);
    }

    /**
     * Does any action of the server (`od help actions`) once; its observation. clientId: the
     * action's name; an action of the same name that was sent before is not done again.
     */
    async action(action: string, args: Json = {}, more: {
        session?: string; timeout?: number; secrets?: Record<string, string>; clientId?: string;
    } = {}): Promise<Json> {
        return checked(await this.post("/events", action, args, more));
    }

    /** Starts an action; its id. */
    async begin(action: string, args: Json, session: string, timeout?: number): Promise<number> {
        const m = await this.post("/events?wait=0", action, args,
            timeout === undefined ? { session } : { session, timeout });
        return integer(m, "cause" in m ? "cause" : "id");
    }

    /** Whether a server answers. */
    async alive(): Promise<boolean> {
        try {
            await this.json("/alive");
            return true;
        } catch (error) {
            if (error instanceof OdError && /^(LOST|UNREACHABLE)$/.test(error.code))
                return false;
            throw error;
        }
    }

    /** Returns when the server answers and its sandbox is prepared. */
    async waitReady(seconds = 60): Promise<void> {
        const end = Date.now() + seconds * 1000;
        for (;;) {
            try {
                await this.json("/ready");
                return;
            } catch (error) {
                const late = Date.now() >= end || !(error instanceof OdError);
                if (late || !(/^(LOST|UNREACHABLE)$/.test(error.code) || error.status === 503))
                    throw error;
            }
            await sleep(100);
        }
    }

    /**
     * The events after the id `since` (0: all that are kept; not given: only new ones). It
     * continues by itself after a lost connection. live: also the output of commands as it is
     * written (observation "delta", without an id).
     */
    async *events(since?: number, live = false): AsyncGenerator<Json, void> {
        const link = new Link(this, since, new Map());
        try {
            for (;;) {
                const m = await link.next();
                if (live || "id" in m)
                    yield m;
            }
        } finally {
            link.close();
        }
    }

    private post(path: string, action: string, args: Json, more: {
        session?: string; timeout?: number; secrets?: Record<string, string>; clientId?: string;
    }): Promise<Json> {
        const { clientId, ...rest } = more;
        const m = { action, args, client_id: clientId ?? `ts-${newName()}`, ...rest };
        return this.json(path, { method: "POST", body: JSON.stringify(m) });
    }

    /** Calls attempt until it does not throw Lost, for `patience` seconds. */
    async again<T>(what: string, attempt: () => Promise<T>): Promise<T> {
        let since = 0;
        for (let wait = 20; ; wait = Math.min(2 * wait, 2000)) {
            try {
                return await attempt();
            } catch (error) {
                const lost = failureOf(error);
                if (lost instanceof OdError)
                    throw lost;
                since ||= Date.now();
                const late = Date.now() - since >= this.patience * 1000;
                // A connection that broke may be an old one that fetch had kept.
                if (!this.met && (late || NOBODY.test(lost.message)))
                    throw new OdError("UNREACHABLE", `${what}: ${lost.message}`);
                if (late)
                    throw new OdError("LOST", `${what}: the connection was lost and did not ` +
                        `come back in ${this.patience} s: ${lost.message}`);
                await sleep(Math.max(lost.afterMs, wait * (0.5 + Math.random())));
            }
        }
    }

    /** A request; the answer's head, and its body as it comes. Throws Lost. */
    async ask(path: string, asked: Asked = {}): Promise<Bodied> {
        const control = new AbortController();
        const quiet = asked.quiet ?? this.timeoutMs;
        let timer: ReturnType<typeof setTimeout> | undefined;
        let late = false;
        const watch = (): void => {
            clearTimeout(timer);
            timer = setTimeout(() => {
                late = true;
                control.abort();
            }, quiet);
        };
        const lost = (error: unknown): OdError | Lost =>
            late ? new Lost("the server did not answer in time") : failureOf(error);
        const stream = typeof asked.body === "function" ? asked.body() : undefined;
        const init: RequestInit & { duplex?: "half" } = {
            method: asked.method ?? "GET", signal: control.signal, redirect: "manual",
            headers: { ...asked.headers, ...this.key && { "X-Session-API-Key": this.key } },
            cache: "no-store",
        };
        if (stream) {
            init.body = stream as BodyInit;
            init.duplex = "half";
        } else if (asked.body !== undefined) {
            init.body = asked.body as BodyInit;
        }
        if (!stream && !(asked.body instanceof Blob))
            watch();
        let answer: Response;
        try {
            answer = await fetch(this.url + path, init);
        } catch (error) {
            clearTimeout(timer);
            throw lost(error);
        }
        this.met = true;
        const reader = answer.body?.getReader();
        const close = (): void => {
            clearTimeout(timer);
            control.abort();
        };
        const read = async (): Promise<Uint8Array | undefined> => {
            watch();
            try {
                const part = await reader?.read();
                return part?.value;
            } catch (error) {
                throw lost(error);
            } finally {
                clearTimeout(timer);
            }
        };
        const bodied = { status: answer.status, headers: answer.headers, read, close };
        try {
            await judge(bodied, answer.type === "opaqueredirect");
        } catch (error) {
            close();
            throw error;
        }
        return bodied;
    }

    /** A request that may be sent again, and its answer, an object. */
    json(path: string, asked: Asked = {}): Promise<Json> {
        return this.again(`${asked.method ?? "GET"} ${path.split("?")[0] ?? ""}`, async () => {
            for (;;) {
                try {
                    return await whole(await this.ask(path, asked));
                } catch (error) {
                    if (!(error instanceof Lost) || !error.message.includes("in time"))
                        throw error;
                }
                // After a long silence: if the server lives, the same request again.
                (await this.ask("/alive")).close();
            }
        });
    }
}

/** The body as an object. */
async function whole(answer: Bodied): Promise<Json> {
    const kind = (answer.headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";
    if (kind !== "application/json") {
        answer.close();
        throw new OdError("PROTOCOL", `the answer (status ${answer.status}) is ` +
            `${kind.slice(0, 60) || "of no type"} and not application/json: is this the address ` +
            "of an od server?", answer.status);
    }
    const decoder = new TextDecoder();
    let out = "", size = 0;
    for (let part = await answer.read(); part; part = await answer.read()) {
        size += part.length;
        if (size > BODY_MAX) {
            answer.close();
            throw new OdError("PROTOCOL", `the answer is longer than ${BODY_MAX} bytes`);
        }
        out += decoder.decode(part, { stream: true });
    }
    return parse(out + decoder.decode(), "the answer");
}

/** Throws the error for a status other than 2XX. */
async function judge(answer: Bodied, redirect: boolean): Promise<void> {
    const { status, headers } = answer;
    if (status >= 200 && status < 300)
        return;
    const after = headers.get("retry-after") ?? "";
    const ms = /^\d+$/.test(after) ? Math.min(Number(after), 30) * 1000 : 0;
    const plain = !(headers.get("content-type") ?? "").startsWith("application/json");
    if (status === 429 || (status === 503 && after) || (plain && [502, 503, 504].includes(status)))
        throw new Lost(`the server answers with status ${status}`, ms);
    if (plain && (status === 401 || status === 403))
        throw new OdError("DENIED", `the server, or a proxy in front of it, refuses: status ${status}`, status);
    if (redirect || (status >= 300 && status < 400))
        throw new OdError("PROTOCOL", "the server answers with a redirect: use its right address", status);
    if (plain && status === 404)
        throw new OdError("VERSION", "there is no such path: this is not the address of an od " +
            "server, or it has another version", status);
    throw errorOf(await whole(answer), status);
}

/** Server-sent events of /events that continue after lost connections where they stopped. */
class Link {
    last: number | undefined;
    readonly outputs: Map<number, number>;
    private readonly client: Client;
    private answer: Bodied | undefined;
    private readonly lines: string[] = [];
    private decoder = new TextDecoder();
    private rest = "";
    private data = "";

    constructor(client: Client, since: number | undefined, outputs: Map<number, number>) {
        this.client = client;
        this.last = since;
        this.outputs = outputs;
    }

    private async open(): Promise<Bodied> {
        const query = new URLSearchParams();
        if (this.last !== undefined)
            query.set("since", String(this.last));
        const newest = [...this.outputs].sort((a, b) => a[0] - b[0]).slice(-OUTPUTS_MAX);
        if (newest.length > 0)
            query.set("output", newest.map(([cause, at]) => `${cause}:${at}`).join(","));
        const answer = await this.client.ask(`/events?${query}`, {
            headers: { Accept: "text/event-stream" }, quiet: QUIET_MS,
        });
        if (!(answer.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
            answer.close();
            throw new OdError("PROTOCOL", "the answer is not a stream of events");
        }
        if (this.last === undefined) {
            const last = answer.headers.get("last-event-id") ?? "";
            if (!/^\d{1,15}$/.test(last)) {
                answer.close();
                throw new OdError("VERSION", "the server does not say which event is the last: " +
                    "it is older than this client");
            }
            this.last = Number(last);
        }
        this.decoder = new TextDecoder();
        this.rest = this.data = "";
        this.lines.length = 0;
        return answer;
    }

    /** The next event or delta: events by their ids, deltas by their offsets. */
    async next(): Promise<Json> {
        for (;;) {
            this.answer ??= await this.client.again("GET /events", () => this.open());
            try {
                const m = parse(await this.message(), "an event");
                if (this.note(m))
                    return m;
            } catch (error) {
                this.close();
                if (!(error instanceof Lost))
                    throw error;
            }
        }
    }

    private async message(): Promise<string> {
        for (;;) {
            for (let line = this.lines.shift(); line !== undefined; line = this.lines.shift()) {
                if (line === "" && this.data) {
                    const data = this.data;
                    this.data = "";
                    return data;
                }
                if (line.startsWith("data:"))
                    this.data += line.slice(5).trimStart();
            }
            const part = await this.answer?.read();
            if (!part)
                throw new Lost("the stream ended");
            const pieces = (this.rest + this.decoder.decode(part, { stream: true })).split("\n");
            this.rest = pieces.pop() ?? "";
            if (this.rest.length + this.data.length > EVENT_MAX)
                throw new OdError("PROTOCOL", `an event is longer than ${EVENT_MAX} bytes`);
            for (const piece of pieces)
                this.lines.push(piece.replace(/\r$/, ""));
        }
    }

    /** Whether the message is new; moves the cursors. */
    private note(m: Json): boolean {
        if ("error" in m)
            throw errorOf(m, 0);
        if (m.observation === "delta") {
            const cause = integer(m, "cause"), extras = object(m, "extras");
            const from = integer(extras, "from"), to = integer(extras, "to");
            const at = this.outputs.get(cause);
            if (at !== undefined && to <= at)
                return false;
            if (at && from !== at)
                throw new OdError("PROTOCOL", `output of ${cause} goes on at ${from}, not at ${at}`);
            text(m, "content");
            this.outputs.set(cause, to);
            return true;
        }
        if (!("id" in m))
            return false;
        const id = integer(m, "id"), last = this.last ?? 0;
        const first = m.observation === "gap" ? integer(object(m, "extras"), "from") : id;
        if (id <= last)
            return false;
        if (first > last + 1)
            throw new OdError("PROTOCOL", `the events ${last + 1} to ${first - 1} are missing`);
        this.last = id;
        if ("cause" in m && !("waiting" in m))
            this.outputs.delete(integer(m, "cause"));
        return true;
    }

    close(): void {
        this.answer?.close();
        this.answer = undefined;
    }
}

/**
 * A command that runs: iterate over it for its output, as it is written. The iteration ends
 * when the command ends, asks for input (`waiting`; then `answer` and iterate again), or its
 * time is over. `result` is then the state of the command.
 */
export class Run implements AsyncIterable<string> {
    result: Result | null = null;
    waiting: Waiting | null = null;
    readonly session: Session;
    readonly id: number;
    private reply: Answer | undefined;
    private readonly link: Link;
    private observed: number;
    private to: number | undefined;
    private paused = false;

    constructor(session: Session, id: number, answer?: Answer) {
        this.session = session;
        this.id = this.observed = id;
        this.reply = answer;
        this.link = new Link(session.client, id - 1, new Map([[id, 0]]));
    }

    private get at(): number {
        return this.link.outputs.get(this.id) ?? 0;
    }

    async *[Symbol.asyncIterator](): AsyncGenerator<string, void> {
        for (;;) {
            if (this.result?.ended) {
                this.close();
                return;
            }
            if (this.paused) {
                const words = this.waiting && this.reply ? await this.reply(this.waiting) : undefined;
                if (words === undefined)
                    return;
                await this.answer(words);
            }
            const m = await this.link.next();
            if (m.observation === "delta" && m.cause === this.id) {
                this.pause();
                if (m.content)
                    yield text(m, "content");
            } else if ("id" in m && (m.cause === this.observed ||
                (m.cause === this.id && m.observation === "ended"))) {
                this.observe(m);
            }
        }
    }

    private observe(m: Json): void {
        const result = resultOf(checked(m));
        if (m.cause !== this.id && result.ended)
            return; // the event `ended` of the command follows, after its output
        this.result = result;
        this.to = result.end;
        if (!result.ended) // its output begins there, even if there is none yet
            this.link.outputs.set(this.id, Math.max(this.at,
                Math.min(integer(object(m, "output", {}), "from", 0), result.end)));
        this.pause();
    }

    private pause(): void {
        if (this.to !== undefined && this.result && !this.result.ended && this.at >= this.to) {
            this.waiting = this.result.waiting;
            this.paused = true;
            this.to = undefined;
        }
    }

    /** Types text, and a newline if enter, and lets the iteration go on. */
    async answer(words: string, enter = true): Promise<void> {
        await this.session.input(words + (enter ? "\n" : ""));
        await this.proceed();
    }

    /** Lets the iteration go on after a pause, without typing anything. */
    async proceed(timeout?: number): Promise<void> {
        if (this.result?.ended)
            return;
        this.waiting = null;
        this.paused = false;
        this.observed = await this.session.client.begin("wait",
            { id: this.id, until: "input", from: this.at }, this.session.name, timeout);
    }

    /** Reads to the next pause or the end; the result. */
    async wait(): Promise<Result> {
        const pieces = this[Symbol.asyncIterator]();
        while (!(await pieces.next()).done);
        if (!this.result)
            throw new OdError("PROTOCOL", "the command has no result");
        return this.result;
    }

    /** Ends the command (TERM, then KILL); the iteration then ends, too. */
    async cancel(): Promise<void> {
        await this.session.client.action("cancel", { id: this.id }, { session: this.session.name });
    }

    /** Closes the stream. The command goes on. */
    close(): void {
        this.link.close();
    }
}

const encoder = new TextEncoder();

/** A shell that remembers its directory and variables, with files, cells and pages. */
export class Session {
    readonly client: Client;
    readonly name: string;

    constructor(client: Client, name: string) {
        this.client = client;
        this.name = name;
    }

    private act(action: string, args: Json, timeout?: number,
        secrets?: Record<string, string>): Promise<Json> {
        return this.client.action(action, args, {
            session: this.name, ...timeout !== undefined && { timeout }, ...secrets && { secrets },
        });
    }

    /**
     * Runs a command; returns when it ends, asks for input, or after timeout seconds. answer:
     * called when it asks. secrets: names and values that events and output do not show.
     */
    async run(command: string, more: {
        timeout?: number; answer?: Answer; secrets?: Record<string, string>;
    } = {}): Promise<Result> {
        let result = resultOf(await this.act("run", { command, until: "input" }, more.timeout,
            more.secrets));
        while (more.answer && result.waiting) {
            const words = await more.answer(result.waiting);
            if (words === undefined)
                break;
            await this.input(`${words}\n`);
            result = await this.wait(result, more.timeout);
        }
        return result;
    }

    /** Starts a command; iterate over the result for its output as it is written. */
    async start(command: string, more: { timeout?: number; answer?: Answer } = {}): Promise<Run> {
        const id = await this.client.begin("run", { command, until: "input" }, this.name, more.timeout);
        return new Run(this, id, more.answer);
    }

    /**
     * Waits until the running command of this session ends or asks for input. before: an
     * earlier result of it; the new one has the text since then.
     */
    async wait(before?: Result, timeout?: number): Promise<Result> {
        const args = before ? { until: "input", id: before.id, from: before.end } : { until: "input" };
        return resultOf(await this.act("wait", args, timeout));
    }

    /** Types a line for the program that asks, and waits as `wait` does. */
    async answer(words: string, before?: Result, timeout?: number): Promise<Result> {
        await this.input(`${words}\n`);
        return this.wait(before, timeout);
    }

    /** Types text as it is; a line ends with "\n". */
    async input(words: string): Promise<void> {
        await this.act("input", { text: words });
    }

    /** Presses a key: C-c, Enter, Up, F1 … or types a text that names no key. */
    async key(key: string): Promise<void> {
        await this.act("key", { key });
    }

    /** Sends a signal to the job in the foreground; tree: to all of the command. */
    async signal(signal: string, tree = false): Promise<void> {
        await this.act("signal", tree ? { signal, tree } : { signal });
    }

    /**
     * Runs a cell in a Jupyter kernel of the session. output: called with the text as it is
     * printed. answer: called when the cell asks; without it, a cell that asks fails.
     */
    async cell(code: string, more: {
        timeout?: number; kernel?: string; answer?: Answer; output?: (words: string) => void;
    } = {}): Promise<CellResult> {
        const { answer, output, ...rest } = more;
        const args: Json = { code, ...rest };
        if (!answer && !output)
            return cellOf(await this.act("cell", args));
        if (answer)
            args.input = true;
        const id = await this.client.begin("cell", args, this.name);
        const link = new Link(this.client, id - 1, new Map());
        let at = 0;
        try {
            for (;;) {
                const m = await link.next();
                if (m.cause === id && "id" in m)
                    return cellOf(checked(m));
                const extras = object(m, "extras", {});
                if (extras.id !== id)
                    continue;
                const content = text(m, "content", "");
                if (m.observation === "cell_output" && output) {
                    const bytes = encoder.encode(content);
                    const fresh = bytes.subarray(Math.max(at - integer(extras, "from"), 0));
                    at = Math.max(at, integer(extras, "to"));
                    if (fresh.length > 0)
                        output(new TextDecoder().decode(fresh));
                } else if (m.observation === "cell_input" && answer) {
                    const words = await answer({
                        prompt: content, hidden: flag(extras, "password"), state: "yes",
                        program: "", pid: 0,
                    });
                    await (words === undefined ? this.act("cancel", { id })
                        : this.act("input", { id, text: words }));
                }
            }
        } finally {
            link.close();
        }
    }

    /** Opens a page of the web in the session's browser. */
    async browse(url: string): Promise<Page> {
        return pageOf(await this.act("browse", { url }));
    }

    /** Takes steps in the browser: click("12"), fill("7", "text") … (BrowserGym's). */
    async browseInteractive(actions: string): Promise<Page> {
        return pageOf(await this.act("browse_interactive", { browser_actions: actions }));
    }

    /** Describes a file or folder. Throws NOTFOUND. */
    async stat(path: string): Promise<FileInfo> {
        return fileOf((await this.act("stat", { path })).extras);
    }

    /** The entries of a folder, sorted by name; paths are relative to it. */
    async list(path = ".", recursive = false): Promise<FileInfo[]> {
        const out: FileInfo[] = [];
        for (let cursor: string | undefined; ;) {
            const page = object(await this.act("list", {
                path, recursive, limit: 1000, ...cursor !== undefined && { cursor },
            }), "extras");
            out.push(...array(page, "entries").map(fileOf));
            if (page.cursor === undefined)
                return out;
            if (page.cursor === cursor)
                throw new OdError("PROTOCOL", "the list of files does not advance");
            cursor = text(page, "cursor");
        }
    }

    /** Makes a folder and its parents, unless they exist. */
    async mkdir(path: string): Promise<void> {
        await this.act("mkdir", { path });
    }

    async remove(path: string, recursive = false): Promise<void> {
        await this.act("remove", { path, recursive });
    }

    /** Keeps what all files of the directory are; returns the checkpoint's number. */
    async checkpoint(label = "", dir?: string): Promise<number> {
        const made = await this.act("checkpoint", { label, ...dir !== undefined && { dir } });
        return integer(object(made, "extras"), "id");
    }

    /** What changed since a checkpoint (the newest): {changes: [{path, …}], …}. */
    async changes(from?: number, diff = false): Promise<Json> {
        const args = { diff, ...from !== undefined && { from } };
        return object(await this.act("changes", args), "extras");
    }

    /** Makes files what they were; `safety` of the result is what they were before. */
    async rollback(to: number, paths?: string[], dry_run = false): Promise<Json> {
        const args = { to, dry_run, ...paths !== undefined && { paths } };
        return object(await this.act("rollback", args), "extras");
    }

    async move(from: string, to: string, overwrite = false): Promise<void> {
        await this.act("move", { from, to, overwrite });
    }

    async copy(from: string, to: string, overwrite = false): Promise<void> {
        await this.act("copy", { from, to, overwrite });
    }

    /** A file of the server, at most BODY_MAX bytes. */
    async read(path: string): Promise<Uint8Array> {
        const parts: Uint8Array[] = [];
        let size = 0;
        for await (const part of this.download(path)) {
            size += part.length;
            if (size > BODY_MAX)
                throw new OdError("LIMIT", `${path} has more than ${BODY_MAX} bytes: use download`);
            parts.push(part);
        }
        const out = new Uint8Array(size);
        let at = 0;
        for (const part of parts) {
            out.set(part, at);
            at += part.length;
        }
        return out;
    }

    /**
     * Sends text, bytes or a Blob (a browser's File, Node's fs.openAsBlob) to `path`; returns
     * the number of bytes. The file is written whole or not at all, and replaces an
     * existing one; its folder is made. After a lost connection the upload continues where it
     * stopped. In a browser progress is called only when it continues, and at the end.
     */
    async upload(source: string | Uint8Array | Blob, path: string, more: {
        mode?: number; progress?: Progress;
    } = {}): Promise<number> {
        const cut = path.lastIndexOf("/");
        const name = path.slice(cut + 1), folder = cut < 0 ? "" : path.slice(0, cut) || "/";
        if (name === "" || name === "." || name === "..")
            throw new OdError("INVALID", `${JSON.stringify(path)} does not name a file`);
        if (folder)
            await this.mkdir(folder);
        const blob = source instanceof Blob ? source : new Blob([source as string]);
        const { size } = blob, { progress } = more;
        const part = { path, session: this.name, token: newName() };
        const mode = ((more.mode ?? 0o644) & 0o7777).toString(8).padStart(4, "0");
        const steps = (from: number) => (): ReadableStream<Uint8Array> => {
            let at = from;
            return new ReadableStream({
                async pull(controller): Promise<void> {
                    const next = await blob.slice(at, at + CHUNK).arrayBuffer();
                    at += next.byteLength;
                    progress?.(at, size);
                    if (next.byteLength > 0)
                        controller.enqueue(new Uint8Array(next));
                    else
                        controller.close();
                },
            });
        };
        let again = false;
        await this.client.again(`the upload of ${path}`, async () => {
            let done = 0;
            if (again) {
                done = integer(await this.client.json(`/files/upload?${new URLSearchParams(part)}`),
                    "size");
                done = done >= 0 && done <= size ? done : 0;
                progress?.(done, size);
            }
            again = true;
            const query = new URLSearchParams({
                ...part, mode, size: String(size), offset: String(done),
            });
            try {
                const answer = await whole(await this.client.ask(`/files/content?${query}`, {
                    method: "PUT", headers: { "Content-Type": "application/octet-stream" },
                    body: progress && !inBrowser() ? steps(done) : blob.slice(done),
                }));
                if (integer(answer, "size") !== size)
                    throw new OdError("PROTOCOL", "the server does not have the whole file");
            } catch (error) {
                if (error instanceof OdError && error.code === "BUSY")
                    throw new Lost(error.message); // the server has less than it reported
                throw error;
            }
        });
        progress?.(size, size);
        return size;
    }

    /**
     * A file of the server, as it arrives. After a lost connection it continues where it
     * stopped; if the file has changed, that is an error.
     */
    async *download(path: string, progress?: Progress): AsyncGenerator<Uint8Array, void> {
        const where = `/files/content?${new URLSearchParams({ path, session: this.name })}`;
        let done = 0, tag = "", size: number | undefined;
        const open = async (): Promise<Bodied> => {
            const headers: Record<string, string> =
                done > 0 ? { Range: `bytes=${done}-`, "If-Range": tag } : {};
            const answer = await this.client.ask(where, { headers });
            const range = answer.headers.get("content-range") ?? "";
            if (answer.status === 200 && done > 0) {
                answer.close();
                throw new OdError("IO", `${path} changed during the download`);
            }
            if (answer.status !== 200 && !range.startsWith(`bytes ${done}-`)) {
                answer.close();
                throw new OdError("PROTOCOL", "the server sent another range than it was asked for");
            }
            tag = answer.headers.get("etag") ?? "";
            const length = answer.headers.get("content-length");
            if (answer.status === 200 && length !== null)
                size = Number(length);
            return answer;
        };
        const next = async (answer: Bodied): Promise<Uint8Array | undefined> => {
            const part = await answer.read();
            if (!part && size !== undefined && done !== size)
                throw new Lost("the connection ended in the middle of the file");
            return part;
        };
        const what = `the download of ${path}`;
        let answer = await this.client.again(what, open);
        try {
            for (;;) {
                const part = await this.client.again(what, async () => {
                    try {
                        return await next(answer);
                    } catch (error) {
                        if (!(failureOf(error) instanceof Lost) || (done > 0 && !tag))
                            throw error;
                        answer.close();
                        answer = await open();
                        return next(answer);
                    }
                });
                if (!part)
                    return;
                done += part.length;
                progress?.(done, size);
                yield part;
            }
        } finally {
            answer.close();
        }
    }
}
