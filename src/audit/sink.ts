/** Where audit records go: a file, or the log of an edge without one. */

import { type AuditEvent, CHAIN_START, formatRecord } from './record.ts'

export interface AuditSink {
  /** Rejects if nothing can be written. */
  open(): Promise<void>
  /** Rejects if the record could not be written. */
  append(event: AuditEvent): Promise<void>
  /** Closes the file and opens its path again, after a log rotation moved it. */
  reopen(): Promise<void>
  close(): Promise<void>
}

/**
 * Creates a sink that writes records to the log, for an edge without an audit file. Each process starts a new chain.
 * `flush` writes the buffered log lines: an intent must not be lost with a process that is killed after the write.
 */
export function createAuditLog(
  replica: string,
  log: { isLevelEnabled(level: 'info'): boolean; info(fields: object, message: string): void },
  flush: () => void,
): AuditSink {
  let link = CHAIN_START
  return {
    append: async (event) => {
      // A logger that discards the record must not count as written.
      if (!log.isLevelEnabled('info')) throw new Error('log.level is silent and audit.file is not set')
      const record = formatRecord(event, { time: new Date(), replica }, link)
      link = record.link
      log.info({ line: record.text }, 'audit')
      if (event.kind === 'intent') flush()
    },
    open: async () => undefined,
    reopen: async () => undefined,
    close: async () => undefined,
  }
}
