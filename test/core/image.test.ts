import assert from "node:assert/strict";
import { test } from "node:test";
import { imageTypeNamed, imageTypeOf } from "../../src/core/image.ts";
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
