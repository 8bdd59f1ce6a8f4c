/** Permissions as letters become the digits of the mode of a regular file. */
import t from 'tap'
import { toFileMode } from '../../../../src/layouts/v4/file-modes.ts'

/** The type of the file, in the mode that the system has. */
const REGULAR_FILE = 0o100000

t.test('each of the 4,096 modes is the number that its letters stand for', async (t) => {
  for (let mode = 0; mode < 0o10000; mode += 1) {
    const digits = (REGULAR_FILE | mode).toString(8)
    if (toFileMode(lettersOf(mode)) !== digits) t.fail(`${lettersOf(mode)} is not ${digits}`)
  }
})

t.test('a number is the same digits as text, and other texts stay', async (t) => {
  t.equal(toFileMode(100644), '100644')
  t.equal(toFileMode('Administrators (allowed): read_control'), 'Administrators (allowed): read_control')
  t.equal(toFileMode('rw-r--r-'), 'rw-r--r-')
  t.equal(toFileMode(undefined), undefined)
})

/** As `ls` prints a mode. */
function lettersOf(mode: number): string {
  const special = [0o4000, 0o2000, 0o1000]
  return [6, 3, 0]
    .map((shift, at) => {
      const bits = (mode >> shift) & 7
      const isSpecial = (mode & (special[at] ?? 0)) !== 0
      const executes = (bits & 1) !== 0
      const letter = at === 2 ? 't' : 's'
      const last = isSpecial ? (executes ? letter : letter.toUpperCase()) : executes ? 'x' : '-'
      return `${bits & 4 ? 'r' : '-'}${bits & 2 ? 'w' : '-'}${last}`
    })
    .join('')
}
