/** The smallest possible pictures. */
export const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
export const GIF = Buffer.from("R0lGODlhAQABAAAAACwAAAAAAQABAAA=", "base64");
