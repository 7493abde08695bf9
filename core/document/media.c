/* SPDX-License-Identifier: MIT */
/*
 * Pictures, sounds and films: the facts in their headers, and the data URL. The bytes are
 * not trusted; a fact that is missing is left out.
 */
#include "document/own.h"

#include "base/enc.h"
#include "base/mime.h"

struct facts {
    uint64_t width, height;
    double seconds; /* 0: unknown */
    uint64_t rate, channels;
};

static unsigned u8(struct str s, size_t at)
{
    return at < s.n ? (unsigned char)s.p[at] : 0;
}
static unsigned be16(struct str s, size_t at) { return u8(s, at) << 8 | u8(s, at + 1); }
static unsigned le16(struct str s, size_t at) { return u8(s, at) | u8(s, at + 1) << 8; }
static uint32_t be32(struct str s, size_t at)
{
    return (uint32_t)be16(s, at) << 16 | be16(s, at + 2);
}
static uint32_t le32(struct str s, size_t at)
{
    return le16(s, at) | (uint32_t)le16(s, at + 2) << 16;
}
static uint64_t be64(struct str s, size_t at)
{
    return (uint64_t)be32(s, at) << 32 | be32(s, at + 4);
}
static uint64_t le64(struct str s, size_t at)
{
    return le32(s, at) | (uint64_t)le32(s, at + 4) << 32;
}
static bool has(struct str s, size_t at, const char *bytes)
{
    return str_starts(str_sub(s, at, 16), str_of(bytes));
}

/* ---- pictures ---- */

/* ITU T.81, B.1.1.3: the frame's header has the size. */
static void jpeg(struct str s, struct facts *f)
{
    for (size_t at = 2; at + 9 < s.n && u8(s, at) == 0xff;) {
        unsigned marker = u8(s, at + 1);
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
            marker != 0xcc) {
            f->height = be16(s, at + 5);
            f->width = be16(s, at + 7);
            return;
        }
        if (marker == 0xff)
            at++;
        else
            at += 2 + be16(s, at + 2);
    }
}

/* RFC 9649, 2.5 to 2.7 */
static void webp(struct str s, struct facts *f)
{
    if (has(s, 12, "VP8X")) {
        f->width = (le32(s, 24) & 0xffffff) + 1;
        f->height = (le32(s, 27) & 0xffffff) + 1;
    } else if (has(s, 12, "VP8L")) {
        uint32_t bits = le32(s, 21);
        f->width = (bits & 0x3fff) + 1;
        f->height = (bits >> 14 & 0x3fff) + 1;
    } else {
        f->width = le16(s, 26) & 0x3fff;
        f->height = le16(s, 28) & 0x3fff;
    }
}

static const char *picture(struct str s, struct facts *f)
{
    if (has(s, 0, "\x89PNG\r\n")) {
        f->width = be32(s, 16);
        f->height = be32(s, 20);
        return "image/png";
    }
    if (has(s, 0, "GIF8")) {
        f->width = le16(s, 6);
        f->height = le16(s, 8);
        return "image/gif";
    }
    if (has(s, 0, "\xff\xd8\xff")) {
        jpeg(s, f);
        return "image/jpeg";
    }
    if (has(s, 0, "RIFF") && has(s, 8, "WEBP")) {
        webp(s, f);
        return "image/webp";
    }
    if (has(s, 0, "BM") && s.n > 26) {
        int32_t height = (int32_t)le32(s, 22);
        f->width = le32(s, 18);
        f->height = height < 0 ? (uint64_t) - (int64_t)height : (uint64_t)height;
        return "image/bmp";
    }
    return NULL;
}

const char *docread_picture(struct str bytes, uint64_t *width, uint64_t *height)
{
    struct facts f = {0};
    const char *type = picture(bytes, &f);
    *width = f.width;
    *height = f.height;
    return type && strcmp(type, "image/bmp") != 0 ? type : NULL;
}

/* ---- sounds ---- */

static void wav(struct str s, struct facts *f)
{
    uint64_t per_second = 0;
    for (size_t at = 12; at + 8 <= s.n;) {
        uint64_t n = le32(s, at + 4);
        if (has(s, at, "fmt ")) {
            f->channels = le16(s, at + 10);
            f->rate = le32(s, at + 12);
            per_second = le32(s, at + 16);
        } else if (has(s, at, "data")) {
            uint64_t there = n < s.n - at - 8 ? n : s.n - at - 8;
            f->seconds = per_second ? (double)there / (double)per_second : 0;
            return;
        }
        at += 8 + (size_t)n + (n & 1);
    }
}

/* RFC 9639, 8.2 */
static void flac(struct str s, struct facts *f)
{
    uint64_t bits = be64(s, 18);
    f->rate = bits >> 44;
    f->channels = (bits >> 41 & 7) + 1;
    if (f->rate)
        f->seconds = (double)(bits & 0xfffffffffull) / (double)f->rate;
}

/* RFC 3533, 6: the last page has the number of samples. */
static void ogg(struct str s, struct facts *f)
{
    size_t head = 27 + u8(s, 26);
    if (has(s, head, "OpusHead")) {
        f->channels = u8(s, head + 9);
        f->rate = 48000; /* RFC 7845, 4 */
    } else if (has(s, head, "\x01vorbis")) {
        f->channels = u8(s, head + 11);
        f->rate = le32(s, head + 12);
    }
    size_t from = s.n > 65536 + 512 ? s.n - 65536 - 512 : 0;
    for (size_t at = s.n; f->rate && at-- > from;) {
        if (!has(s, at, "OggS") || at + 14 > s.n)
            continue;
        f->seconds = (double)le64(s, at + 6) / (double)f->rate;
        return;
    }
}

struct mp3 {
    unsigned rate, bitrate, samples, bytes;
};

/* ISO 11172-3, 2.4.2.3, and 13818-3 for the lower rates: layer III. */
static bool mp3_frame(struct str s, size_t at, struct mp3 *m)
{
    static const uint16_t rates[] = {44100, 48000, 32000};
    static const uint16_t kbits[2][15] = {
        {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
        {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}};
    unsigned version = u8(s, at + 1) >> 3 & 3, layer = u8(s, at + 1) >> 1 & 3;
    unsigned bitrate = u8(s, at + 2) >> 4, rate = u8(s, at + 2) >> 2 & 3;
    if (u8(s, at) != 0xff || u8(s, at + 1) < 0xe0 || version == 1 || layer != 1 ||
        bitrate == 0 || bitrate == 15 || rate == 3)
        return false;
    bool old = version == 3;
    m->rate = rates[rate] >> (old ? 0 : version == 2 ? 1 : 2);
    m->bitrate = 1000u * kbits[!old][bitrate];
    m->samples = old ? 1152 : 576;
    m->bytes = m->samples / 8 * m->bitrate / m->rate + (u8(s, at + 2) >> 1 & 1);
    return m->bytes > 4;
}

static bool mp3(struct str s, struct facts *f)
{
    size_t at = 0;
    struct mp3 m;
    if (has(s, 0, "ID3"))
        at = 10 + ((size_t)(u8(s, 6) & 127) << 21 | (u8(s, 7) & 127) << 14 |
                   (u8(s, 8) & 127) << 7 | (u8(s, 9) & 127));
    size_t most = at + 4096;
    while (at < most && at + 4 <= s.n && !mp3_frame(s, at, &m))
        at++;
    if (at >= most || at + 4 > s.n)
        return false;
    f->rate = m.rate;
    f->channels = u8(s, at + 3) >> 6 == 3 ? 1 : 2;
    for (; at + 4 <= s.n && mp3_frame(s, at, &m); at += m.bytes)
        f->seconds += (double)m.samples / m.rate;
    return true;
}

static const char *sound(struct str s, struct facts *f)
{
    if (has(s, 0, "RIFF") && has(s, 8, "WAVE")) {
        wav(s, f);
        return "audio/wav";
    }
    if (has(s, 0, "fLaC")) {
        flac(s, f);
        return "audio/flac";
    }
    if (has(s, 0, "OggS")) {
        ogg(s, f);
        return "audio/ogg";
    }
    return mp3(s, f) ? "audio/mpeg" : NULL;
}

/* ---- films ---- */

enum { BOXES_MAX = 10000, BOX_DEPTH = 8 };

/* ISO 14496-12, 8.2.2 and 8.3.2 */
static void movie_head(struct str b, struct facts *f)
{
    bool wide = u8(b, 0) == 1;
    uint64_t scale = be32(b, wide ? 20 : 12);
    uint64_t length = wide ? be64(b, 24) : be32(b, 16);
    if (scale)
        f->seconds = (double)length / (double)scale;
}

static void track_head(struct str b, struct facts *f)
{
    size_t at = u8(b, 0) == 1 ? 88 : 76;
    uint64_t width = be32(b, at) >> 16, height = be32(b, at + 4) >> 16;
    if (width * height > f->width * f->height) {
        f->width = width;
        f->height = height;
    }
}

static void boxes(struct str s, struct facts *f, int depth, int *left)
{
    while (s.n >= 8 && depth < BOX_DEPTH && (*left)-- > 0) {
        uint64_t n = be32(s, 0), head = 8;
        if (n == 1) {
            n = be64(s, 8);
            head = 16;
        } else if (n == 0) {
            n = s.n;
        }
        if (n < head || n > s.n)
            n = s.n;
        struct str body = str_sub(s, (size_t)head, (size_t)(n - head));
        if (has(s, 4, "moov") || has(s, 4, "trak"))
            boxes(body, f, depth + 1, left);
        else if (has(s, 4, "mvhd"))
            movie_head(body, f);
        else if (has(s, 4, "tkhd"))
            track_head(body, f);
        s = str_sub(s, (size_t)n, s.n);
    }
}

/* RFC 8794, 4: a number whose first byte gives its length. */
static size_t vint(struct str s, size_t at, bool keep, uint64_t *v)
{
    unsigned first = u8(s, at), n = 1;
    while (n <= 8 && !(first & 0x80u >> (n - 1)))
        n++;
    if (n > 8)
        return 0;
    *v = keep ? first : first & (0xffu >> n);
    for (unsigned i = 1; i < n; i++)
        *v = *v << 8 | u8(s, at + i);
    return n;
}

static double real(struct str b)
{
    if (b.n == 4) {
        float v;
        uint32_t bits = be32(b, 0);
        memcpy(&v, &bits, sizeof(v));
        return (double)v;
    }
    double v = 0;
    uint64_t bits = be64(b, 0);
    memcpy(&v, &bits, sizeof(v));
    return b.n == 8 ? v : 0;
}

static uint64_t whole(struct str b)
{
    uint64_t v = 0;
    for (size_t i = 0; i < b.n && i < 8; i++)
        v = v << 8 | u8(b, i);
    return v;
}

/* RFC 9559: the elements within Segment, Info and Tracks are read. */
static void elements(struct str s, struct facts *f, double *scale, int depth, int *left)
{
    enum {
        SEGMENT = 0x18538067,
        INFO = 0x1549a966,
        TRACKS = 0x1654ae6b,
        TRACK = 0xae,
        VIDEO = 0xe0,
        SCALE = 0x2ad7b1,
        DURATION = 0x4489,
        WIDTH = 0xb0,
        HEIGHT = 0xba
    };
    while (s.n >= 2 && depth < BOX_DEPTH && (*left)-- > 0) {
        uint64_t id = 0, n = 0;
        size_t head = vint(s, 0, true, &id);
        size_t more = head ? vint(s, head, false, &n) : 0;
        if (!more)
            return;
        struct str body = str_sub(s, head + more, n < s.n ? (size_t)n : s.n);
        if (id == SEGMENT || id == INFO || id == TRACKS || id == TRACK || id == VIDEO)
            elements(body, f, scale, depth + 1, left);
        else if (id == SCALE)
            *scale = (double)whole(body) / 1e9;
        else if (id == DURATION)
            f->seconds = real(body);
        else if (id == WIDTH)
            f->width = whole(body);
        else if (id == HEIGHT)
            f->height = whole(body);
        s = str_sub(s, head + more + body.n, s.n);
    }
}

static const char *film(struct str s, struct facts *f)
{
    int left = BOXES_MAX;
    if (has(s, 4, "ftyp")) {
        boxes(s, f, 0, &left);
        return has(s, 8, "qt  ")  ? "video/quicktime"
               : has(s, 8, "M4A") ? "audio/mp4"
                                  : "video/mp4";
    }
    if (has(s, 0, "\x1a\x45\xdf\xa3")) {
        double scale = 1e-3;
        elements(s, f, &scale, 0, &left);
        f->seconds *= scale;
        return str_find(str_sub(s, 0, 64), STR("webm")) >= 0 ? "video/webm"
                                                             : "video/matroska";
    }
    return NULL;
}

/* ---- the notes ---- */

static int put_facts(struct buf *out, const char *type, const struct facts *f, size_t n)
{
    int rc = buf_addf(out, "Type: %s\n", type);
    if (rc == 0 && f->width && f->height)
        rc = buf_addf(out, "Size: %llu x %llu pixels\n", (unsigned long long)f->width,
                      (unsigned long long)f->height);
    if (rc == 0 && f->seconds > 0 && f->seconds < 1e9)
        rc = buf_addf(out, "Duration: %.1f s\n", f->seconds);
    if (rc == 0 && f->rate)
        rc = buf_addf(out, "Sound: %llu Hz, %llu channel%s\n",
                      (unsigned long long)f->rate, (unsigned long long)f->channels,
                      f->channels == 1 ? "" : "s");
    return rc < 0 ? rc : buf_addf(out, "Bytes: %zu\n", n);
}

static int put_url(struct buf *out, const char *type, struct str bytes)
{
    if (bytes.n > DOCREAD_MEDIA_MAX)
        return buf_addf(out, "[It is larger than %d MiB: no data URL is made.]\n",
                        DOCREAD_MEDIA_MAX >> 20);
    int rc = buf_addf(out, "data:%s;base64,", type);
    if (rc == 0)
        rc = enc_base64(out, bytes);
    return rc < 0 ? rc : buf_addc(out, '\n');
}

int docread_media(enum docread_kind kind, struct str name, struct str bytes,
                  bool markdown, struct buf *out, struct err *e)
{
    struct facts f = {.width = 0};
    const char *type = kind == DOCREAD_IMAGE   ? picture(bytes, &f)
                       : kind == DOCREAD_AUDIO ? sound(bytes, &f)
                                               : film(bytes, &f);
    if (!type && kind == DOCREAD_AUDIO)
        type = film(bytes, &f);
    if (!type)
        type = mime_of(name, str_sub(bytes, 0, MIME_HEAD));
    const char *need = kind == DOCREAD_IMAGE
                           ? "A description of it needs a model that sees"
                       : kind == DOCREAD_AUDIO
                           ? "A transcript needs a model for speech"
                           : "A description of it needs a model that sees";
    int rc = put_facts(out, type, &f, bytes.n);
    if (rc == 0)
        rc = buf_addf(out, "[%s: none is available.%s]\n", need,
                      markdown ? "" : " The data URL can be given to one.");
    if (rc == 0 && !markdown)
        rc = put_url(out, type, bytes);
    return rc < 0 ? docread_too_long(out, e) : 0;
}
