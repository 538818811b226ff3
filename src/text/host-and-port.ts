/** The two parts of a checked address such as `127.0.0.1:3000` or `[::1]:3000`. Pure. */
export function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon).replaceAll(/[[\]]/g, ""), port: Number(address.slice(colon + 1)) };
}
