import { verifyAudit } from '../audit/verify.ts'
import { exitCodes } from '../server/exit-codes.ts'
import { CommandError, print } from './terminal.ts'

/** `manager-edge audit verify`: prints what is wrong, line by line, and ends with 1 where anything is. */
export async function verify(files: readonly string[], options: { last?: string }): Promise<void> {
  const { faults, notes, lines, last } = await verifyAudit(files, options)
  for (const note of notes) print(`note: ${note}`)
  for (const fault of faults) print(`WRONG: ${fault}`)
  if (last !== undefined) print(`${lines} lines, the last is ${last.seq} with digest ${last.digest}`)
  if (lines === 0) throw new CommandError('these files hold no audit', exitCodes.failed)
  if (faults.length > 0) throw new CommandError(`${faults.length} faults`, exitCodes.failed)
  print('ok')
}
