/** Where the room reports. Facts never hold a password, a token or a hash. */
export type Log = (
  level: 'info' | 'warn' | 'error',
  message: string,
  facts?: Readonly<Record<string, string | number>>,
) => void
