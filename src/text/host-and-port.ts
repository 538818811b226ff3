/** `127.0.0.1:3000` and `[::1]:3000`, which the configuration has checked, in their two parts. Pure. */
export function hostAndPort(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(":");
  return {
    host: address.slice(0, colon).replaceAll(/[[\]]/g, ""),
    port: Number(address.slice(colon + 1)),
  };
}
