/** `manager-edge audit verify`. */
import { verifyAudit } from '../audit/verify.ts'
import { CommandError, print } from './terminal.ts'

/** Prints each fault in a line. The exit code is 1 if there is a fault. */
export async function printAuditFaults(files: readonly string[], options: { last?: string }): Promise<void> {
  const { faults, notes, records, last } = await verifyAudit(files, options)
  for (const note of notes) print(`note: ${note}`)
  for (const fault of faults) print(`WRONG: ${fault}`)
  if (last !== undefined) print(`${records} records, the last is ${last.seq} with digest ${last.digest}`)
  if (records === 0) throw new CommandError('these files contain no audit records')
  if (faults.length > 0) throw new CommandError(`${faults.length} faults`)
  print('ok')
}
