import assert from "node:assert/strict";
import { test } from "node:test";
import { imageTypeNamed, imageTypeOf, oversize } from "../../src/core/image.ts";
import { largeGif, largeJpeg, largePng, largeWebp } from "../support/large-pictures.ts";
import { GIF, PNG } from "../support/mcp/pictures.ts";

test("bytes tell what kind of picture they are", () => {
  const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");
  assert.equal(imageTypeOf(PNG), "image/png");
  assert.equal(imageTypeOf(GIF), "image/gif");
  assert.equal(imageTypeOf(latin1("\xff\xd8\xff\xe0 and more")), "image/jpeg");
  assert.equal(imageTypeOf(latin1("RIFF\0\0\0\0WEBPVP8 ")), "image/webp");
  for (const none of ["", "RIFF\0\0\0\0WAVE", "<svg xmlns=", "%PDF-1.7", "\x89PN", "RIFF1234"])
    assert.equal(imageTypeOf(latin1(none)), null, JSON.stringify(none));
});

test("a MIME type names a kind of picture, or none that models take", () => {
  assert.equal(imageTypeNamed("Image/PNG; charset=binary"), "image/png");
  for (const none of ["", "image/svg+xml", "text/html", "image/png2"])
    assert.equal(imageTypeNamed(none), null);
});

test("a picture that is too large decoded is known by its head, of whatever kind it is", () => {
  for (const [picture, size] of [
    [largePng(50_000, 50_000), [50_000, 50_000]],
    [largePng(1, 2 ** 31 - 1), [1, 2 ** 31 - 1]],
    [largeGif(65_535, 65_535), [65_535, 65_535]],
    [largeJpeg(65_500, 100), [65_500, 100]],
    [largeJpeg(100, 65_500, 0xc2), [100, 65_500]],
    [largeWebp("VP8 ", 16_383, 9), [16_383, 9]],
    [largeWebp("VP8L", 9, 16_384), [9, 16_384]],
    [largeWebp("VP8X", 16_777_216, 255), [16_777_216, 255]],
  ] as const)
    assert.deepEqual(oversize(picture), size);
  for (const small of [
    PNG,
    GIF,
    largePng(8000, 8000),
    largeGif(1, 8000),
    largeJpeg(8000, 1),
    largeJpeg(640, 480, 0xc2),
    largeWebp("VP8 ", 8000, 8000),
    largeWebp("VP8L", 8000, 8000),
    largeWebp("VP8X", 8000, 8000),
  ])
    assert.equal(oversize(small), null);
});

test("a picture that is cut off at any byte is none that is too large, and no error", () => {
  const pictures = [
    largePng(50_000, 50_000),
    largeGif(50_000, 50_000),
    largeJpeg(50_000, 50_000),
    ...(["VP8 ", "VP8L", "VP8X"] as const).map((form) => largeWebp(form, 16_000, 16_000)),
  ];
  for (const picture of pictures)
    for (let end = 0; end <= picture.length; end++) {
      const found = oversize(picture.subarray(0, end));
      assert.ok(found === null || Math.max(...found) > 8000);
    }
  const segments = Buffer.concat([Buffer.from("ffd8", "hex"), Buffer.alloc(5_000_000, 0xff)]);
  assert.equal(oversize(segments), null);
});
