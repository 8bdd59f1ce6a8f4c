/** Builds traces, the webhook and the audit from the configuration. */
import { readFile } from 'node:fs/promises'
import { TLSSocket } from 'node:tls'
import type { Logger } from 'pino'
import { createAuditFile } from '../audit/file.ts'
import { type Audit, createAudit, createAuditLog } from '../audit/index.ts'
import { parseHeaderLines } from '../config/named-files.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import { headerText } from '../core/values.ts'
import { methodLabel } from '../http/request-events.ts'
import { type BeginTrace, fromTrusted, type ProxySettings } from '../http/request-state.ts'
import type { Traces } from '../telemetry/traces/index.ts'
import { createWebhook, type Webhook } from '../telemetry/webhook.ts'
import { replicaNameOf, version } from './process.ts'

export type { Traces } from '../telemetry/traces/index.ts'

/**
 * Rejects if the file of headers cannot be read. Resolves to `undefined` without a collector; the modules of traces are
 * not loaded then.
 */
export async function buildTraces({ initial, current }: ReloadableConfig, log: Logger): Promise<Traces | undefined> {
  const { endpoint, headersFile } = initial.traces
  if (endpoint === undefined) return undefined
  const headers =
    headersFile === undefined ? {} : parseHeaders('traces', await readFile(headersFile, 'utf8'), headersFile)
  const { createTraces } = await import('../telemetry/traces/index.ts')
  return createTraces({ url: endpoint, headers, sampling: () => current().traces, version, log })
}

/** `traceparent` is used only from trusted proxies: any other client could have all its requests traced. */
export function createTraceStarter(settings: ProxySettings, traces: Traces): BeginTrace {
  const isTrusted = fromTrusted(settings)
  return ({ id, raw }) => {
    const { traceparent, tracestate } = raw.headers
    const isUsed = traceparent !== undefined && isTrusted({ raw })
    return traces.begin({
      id,
      method: methodLabel(raw.method),
      scheme: raw.socket instanceof TLSSocket ? 'https' : 'http',
      protocol: raw.httpVersion,
      ...(isUsed && { traceparent: headerText(traceparent), tracestate: headerText(tracestate) }),
    })
  }
}

/** `section`: the settings that name the file. */
function parseHeaders(section: string, text: string, file: string): Readonly<Record<string, string>> {
  const parsed = parseHeaderLines(text)
  if (!parsed.ok) throw new Error(`${section}.headersFile: ${file}:${parsed.line} ${parsed.message}`)
  return parsed.headers
}

export function buildWebhook({ current }: ReloadableConfig, log: Logger): Webhook {
  const section = 'operations.webhook'
  const parse = (text: string, file: string) => parseHeaders(section, text, file)
  return createWebhook({ target: () => current().operations.webhook, parseHeaders: parse, log })
}

/** Creates the audit with its file, or with the log if `audit.file` is not set. `flush`: writes the buffered log lines. */
export function buildAudit({ initial, current, onReload }: ReloadableConfig, log: Logger, flush: () => void): Audit {
  const { file } = initial.audit
  const replica = replicaNameOf(initial)
  const onFailure = () => current().audit.onFailure
  if (file !== undefined) {
    const onRotationFailure = ({ message }: Error) => log.warn({ fault: message }, 'audit file not rotated')
    const onUnlocked = (reason: string) => log.warn({ file, reason }, 'audit file not locked')
    const writing = () => current().audit
    const sink = createAuditFile({ file, replica, writing, onRotationFailure, onUnlocked })
    return createAudit({ sink, onFailure, log })
  }
  // Audit records are written at every log level but `silent`, under a separate logger name.
  const levelOf = (level: string) => (level === 'silent' ? 'silent' : 'info')
  const auditLogger = log.child({ name: 'audit' }, { level: levelOf(initial.log.level) })
  onReload((next) => () => {
    auditLogger.level = levelOf(next.log.level)
  })
  return createAudit({ sink: createAuditLog(replica, auditLogger, flush), onFailure, log })
}
