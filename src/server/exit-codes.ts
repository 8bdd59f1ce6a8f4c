/** What the process ends with; 128 + n where signal n came a second time. */
export const exitCodes = { ended: 0, failed: 1, settings: 2 } as const
