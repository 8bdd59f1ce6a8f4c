/** The mode of a file: in letters in the v4 layout, in digits in the v3 one. */

/** Owner, group, others: what the third letter means besides the permission to execute. */
const SPECIAL_BITS: Readonly<Record<string, number>> = { s: 1, S: 1, t: 1, T: 1 }
const LETTERS = /^(?:[r-][w-][xsS-])(?:[r-][w-][xsS-])(?:[r-][w-][xtT-])$/

/**
 * Returns the mode of a regular file as text: `rw-r--r--` is 100644, `rwsr-xr-x` is 104755. Integrity monitoring stores
 * regular files only. Agents before 4.0 send the digits as a number. Other texts, as those of Windows, are returned
 * unchanged.
 */
export function toFileMode(permissions: unknown): unknown {
  if (typeof permissions === 'number') return String(permissions)
  if (typeof permissions !== 'string' || !LETTERS.test(permissions)) return permissions
  const parts = [permissions.slice(0, 3), permissions.slice(3, 6), permissions.slice(6)]
  const special = parts.reduce((bits, part) => bits * 2 + (SPECIAL_BITS[part[2] ?? ''] ?? 0), 0)
  return `10${special}${parts.map(toDigit).join('')}`
}

function toDigit(part: string): number {
  const [read, write, execute = ''] = part
  return (read === 'r' ? 4 : 0) + (write === 'w' ? 2 : 0) + (/[xst]/.test(execute) ? 1 : 0)
}
