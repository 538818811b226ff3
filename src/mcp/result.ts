import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { type ImageBytes, imageTypeNamed, imageTypeOf, MAX_IMAGE_BYTES, oversize } from "../core/image.ts";
import { formatNumber } from "../text/format.ts";
import { sliceWhole } from "../text/text.ts";
import { escapeUnseen } from "../text/unseen.ts";

/** A tool's result in a form for a model. */
export interface ReadResult {
  readonly text: string;
  /** The tool itself reports a failure. */
  readonly isError: boolean;
  /** Pictures by the text's numbers: picture 1, picture 2, … */
  readonly images: readonly ImageBytes[];
}

/** A server's result; a part of an unknown kind is named, not refused. */
export const RawResult = z.looseObject({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
});

/** Longest result and longest report of a failure, in UTF-16 units. */
const LONGEST = 20_000;
const LONGEST_ERROR = 2000;
const LONGEST_NAME = 200;
/** Pictures of one result that are shown: the first ones. */
const MOST_IMAGES = 4;

const text = z.string();
const Part = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text }),
  z.looseObject({ type: z.literal("image"), data: text, mimeType: text.default("") }),
  z.looseObject({ type: z.literal("audio"), data: text, mimeType: text.default("") }),
  z.looseObject({
    type: z.literal("resource_link"),
    uri: text,
    name: text.default(""),
    mimeType: text.default(""),
  }),
  z.looseObject({
    type: z.literal("resource"),
    resource: z.looseObject({
      uri: text,
      text: text.optional(),
      blob: text.optional(),
      mimeType: text.default(""),
    }),
  }),
]);

/** Undefined: unreadable. */
type ReadPart = z.output<typeof Part> | undefined;

/**
 * Puts a result into words, since the log holds texts. Pictures are numbered for models that see them; other bytes are
 * only named. Links are not fetched. Pure.
 * @param seesImages the model gets pictures; default: no
 */
export function readResult(
  { content = [], structuredContent, isError = false }: z.output<typeof RawResult>,
  mask: (text: string) => string,
  seesImages = false,
): ReadResult {
  const images: ImageBytes[] = [];
  const read = content.map((raw) => Part.safeParse(raw).data);
  const parts = read.map((part) => {
    const image = seesImages && !isError && images.length < MOST_IMAGES ? imageOf(part) : null;
    return partText(part, image === null ? null : { number: images.push(image), ...image });
  });
  if (structuredContent !== undefined && !read.some((part) => saysTheSame(part, structuredContent)))
    parts.push(JSON.stringify(structuredContent));
  const whole = escapeUnseen(mask(parts.filter((part) => part !== "").join("\n")));
  const said =
    whole === "" ? (isError ? "the tool failed, and does not say why." : "The tool answers nothing.") : whole;
  return { text: capped(said, isError ? LONGEST_ERROR : LONGEST), isError, images };
}

/** The picture in a part, of a kind that models take and that its bytes confirm. Null: none. */
function imageOf(part: ReadPart): ImageBytes | null {
  if (part === undefined) return null;
  const [base64, mimeType] =
    part.type === "image"
      ? [part.data, part.mimeType]
      : part.type === "resource"
        ? [part.resource.blob ?? "", part.resource.mimeType]
        : ["", ""];
  if (imageTypeNamed(mimeType) === null || base64.length > (MAX_IMAGE_BYTES / 3 + 1) * 4) return null;
  const bytes = Buffer.from(base64, "base64");
  const type = imageTypeOf(bytes);
  return type === null || bytes.length > MAX_IMAGE_BYTES || oversize(bytes) !== null ? null : { type, bytes };
}

/** Servers send structured content as text, too, for clients that do not know it. */
function saysTheSame(part: ReadPart, structured: unknown): boolean {
  if (part?.type !== "text") return false;
  try {
    return isDeepStrictEqual(JSON.parse(part.text), structured);
  } catch {
    // Not JSON: it says something else.
    return false;
  }
}

/** @param image the part's picture, if it is shown */
function partText(part: ReadPart, image: (ImageBytes & { readonly number: number }) | null): string {
  if (part === undefined) return "[content that cannot be read]";
  const picture =
    image === null ? "" : `picture ${image.number}, ${image.type}, ${formatNumber(image.bytes.length)} bytes`;
  switch (part.type) {
    case "text":
      return part.text;
    case "image":
    case "audio":
      return image !== null
        ? `[${picture}]`
        : `[${part.type}, ${typeName(part.mimeType)}, ${size(part.data)}: not shown]`;
    case "resource_link":
      return `[resource ${JSON.stringify(short(part.name || part.uri))} at ${short(part.uri)}, ${typeName(part.mimeType)}]`;
    case "resource": {
      const { uri, text: words, blob = "", mimeType } = part.resource;
      if (image !== null) return `[${picture}, of the resource ${short(uri)}]`;
      const head = `resource ${short(uri)}, ${typeName(mimeType)}`;
      return words === undefined ? `[${head}, ${size(blob)}: not shown]` : `[${head}]\n${words}`;
    }
  }
}

/** Bytes of base64. */
function size(base64: string): string {
  const { length } = base64.replace(/(?<!=)=+$/, "");
  return `${formatNumber(Math.floor((length * 3) / 4))} bytes`;
}

function typeName(mimeType: string): string {
  return /^[\w.+-]{1,60}\/[\w.+-]{1,60}/.exec(mimeType)?.[0] ?? "of an unknown type";
}

function short(words: string): string {
  return sliceWhole(words.replaceAll(/\s+/g, " "), 0, LONGEST_NAME);
}

/**
 * Names the source of a result. The quoted words cannot end the frame: they reach to the end of the result, and Weir's
 * labels in them are escaped for the model.
 */
export function framed(whose: string, words: string): string {
  return `${whose}, as data up to the end of this result:\n${words}`;
}

/** The beginning, and the length of the rest. */
export function capped(whole: string, limit: number): string {
  if (whole.length <= limit) return whole;
  const head = sliceWhole(whole, 0, limit);
  return `${head}\n[… cut here: ${formatNumber(whole.length - head.length)} characters more]`;
}
