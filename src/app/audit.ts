/** Where the audit goes, as the settings say. */
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { auditFile } from '../audit/file.ts'
import { type Audit, createAudit } from '../audit/index.ts'
import { auditToLog } from '../audit/log.ts'
import type { Config } from '../config/index.ts'

export function buildAudit({ audit }: Config, log: Logger): Audit {
  const { file, onFailure, sync, rotateAt } = audit
  const replica = hostname()
  if (file !== undefined) {
    const stuck = ({ message }: Error) => log.warn({ fault: message }, 'the audit cannot be put aside, and grows on')
    return createAudit({ sink: auditFile({ file, replica, sync, rotateAt, stuck }), onFailure, log })
  }
  // Told whatever the level of the log, and under a name of their own, so that they can be told apart.
  const own = log.child({ name: 'audit' }, { level: log.level === 'silent' ? 'silent' : 'info' })
  return createAudit({ sink: auditToLog(replica, (line) => own.info({ line }, 'audit')), onFailure, log })
}
