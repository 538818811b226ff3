import type { ImageType } from "../../core/image.ts";

/** A picture of a message; without its bytes it is only named. */
export interface PagePicture {
  /** `[image a.png, image/png, 12 kB]` */
  readonly label: string;
  readonly type?: ImageType;
  readonly bytes?: Uint8Array;
}

export interface PageMessage {
  readonly speaker: string;
  /** In words. */
  readonly at: string;
  readonly text: string;
  readonly pictures: readonly PagePicture[];
}

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}" +
  "h2{font-size:1rem;margin:1.5rem 0 0}time{font-weight:normal;color:#666}p{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}" +
  "figure{margin:.5rem 0}img{max-width:100%}figcaption{color:#666;font-size:.875rem}";

/** A conversation as one self-contained page, with its pictures. Messages are text in it, and the page loads nothing. Pure. */
export function exportPage(page: {
  readonly title: string;
  readonly about: string;
  readonly said: readonly PageMessage[];
}): string {
  const { title, about, said } = page;
  const name = escaped(title);
  return [
    "<!doctype html>",
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">`,
    `<meta name="viewport" content="width=device-width"><title>${name}</title><style>${STYLE}</style></head>`,
    `<body><h1>${name}</h1><p>${escaped(about)}</p>`,
    ...said.map(article),
    "</body></html>",
  ].join("\n");
}

function article({ speaker, at, text, pictures }: PageMessage): string {
  const head = `<h2>${escaped(speaker)} <time>${escaped(at)}</time></h2>`;
  return `<article>${head}<p>${escaped(text)}</p>${pictures.map(figure).join("")}</article>`;
}

function figure({ label, type, bytes }: PagePicture): string {
  const caption = escaped(label);
  if (type === undefined || bytes === undefined)
    return `<figure><figcaption>${caption}: left out, the page has no room for more pictures</figcaption></figure>`;
  const data = Buffer.from(bytes).toString("base64");
  return `<figure><img src="data:${type};base64,${data}" alt="${caption}"><figcaption>${caption}</figcaption></figure>`;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
