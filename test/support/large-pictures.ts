import { crc32, deflateSync } from "node:zlib";

/** Pictures that are few bytes and, decoded, very many: each as far as its size stands in it. */

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

/** Black and white, of which the rows are left out from the tenth on. */
export function largePng(width: number, height: number): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.writeUInt8(1, 8);
  const rows = deflateSync(Buffer.alloc(10 * (Math.ceil(width / 8) + 1)));
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    pngChunk("IHDR", head),
    pngChunk("IDAT", rows),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}

export function largeGif(width: number, height: number): Buffer {
  const screen = Buffer.alloc(7);
  screen.writeUInt16LE(width, 0);
  screen.writeUInt16LE(height, 2);
  return Buffer.concat([Buffer.from("GIF89a", "latin1"), screen, Buffer.from(";", "latin1")]);
}

/** As a camera writes it: what it says of itself stands before its size. @param frame baseline: c0, progressive: c2 */
export function largeJpeg(width: number, height: number, frame: 0xc0 | 0xc2 = 0xc0): Buffer {
  const size = Buffer.from([0xff, frame, 0, 11, 8, 0, 0, 0, 0, 1, 1, 0x11, 0]);
  size.writeUInt16BE(height, 5);
  size.writeUInt16BE(width, 7);
  const exif = Buffer.concat([Buffer.from([0xff, 0xe1, 0x01, 0x02]), Buffer.alloc(256, 0xc0)]);
  const tables = Buffer.from([0xff, 0xff, 0xc4, 0, 3, 0]);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), exif, tables, size, Buffer.from([0xff, 0xd9])]);
}

export function largeWebp(form: "VP8 " | "VP8L" | "VP8X", width: number, height: number): Buffer {
  const body = Buffer.alloc(14);
  if (form === "VP8X") {
    body.writeUIntLE(width - 1, 4, 3);
    body.writeUIntLE(height - 1, 7, 3);
  } else if (form === "VP8L") {
    body.writeUInt8(0x2f, 0);
    body.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 1);
  } else {
    body.write("9d012a", 3, "hex");
    body.writeUInt16LE(width, 6);
    body.writeUInt16LE(height, 8);
  }
  const chunk = Buffer.alloc(8);
  chunk.write(form, 0, "latin1");
  chunk.writeUInt32LE(body.length, 4);
  const riff = Buffer.from("RIFF\0\0\0\0WEBP", "latin1");
  riff.writeUInt32LE(4 + chunk.length + body.length, 4);
  return Buffer.concat([riff, chunk, body]);
}
