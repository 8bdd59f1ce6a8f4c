/** Traces as the settings describe them. Without a collector nothing of them is loaded. */
import { readFile } from 'node:fs/promises'
import { TLSSocket } from 'node:tls'
import type { Logger } from 'pino'
import { readHeaderLines } from '../config/header-lines.ts'
import type { Config } from '../config/index.ts'
import { fromTrusted } from '../http/client-address.ts'
import { textOf } from '../http/fields.ts'
import { methodWord } from '../http/observe.ts'
import type { BeginTrace } from '../http/trace.ts'
import type { Traces } from '../telemetry/traces/index.ts'
import { version } from './package.ts'

export type { Traces } from '../telemetry/traces/index.ts'

/** Rejects when the file of headers cannot be read. `undefined`: nothing is traced. */
export async function buildTraces({ traces }: Config, log: Logger): Promise<Traces | undefined> {
  const { endpoint, headersFile, share, perSecond } = traces
  if (endpoint === undefined) return undefined
  const headers = await headersIn(headersFile)
  const { createTraces } = await import('../telemetry/traces/index.ts')
  return createTraces({ url: endpoint, headers, share, perSecond, version, log })
}

/** A `traceparent` of just anybody is not believed: it could have everything traced. */
export function beginning({ listen }: Config, traces: Traces): BeginTrace {
  const isTrusted = fromTrusted(listen.trustedProxies)
  return ({ id, raw }) => {
    const { traceparent, tracestate } = raw.headers
    const believed = traceparent !== undefined && isTrusted({ raw })
    return traces.begin({
      id,
      method: methodWord(raw.method),
      scheme: raw.socket instanceof TLSSocket ? 'https' : 'http',
      protocol: raw.httpVersion,
      ...(believed && { traceparent: textOf(traceparent), tracestate: textOf(tracestate) }),
    })
  }
}

async function headersIn(file: string | undefined): Promise<Readonly<Record<string, string>>> {
  if (file === undefined) return {}
  const read = readHeaderLines(await readFile(file, 'utf8'))
  if (!read.ok) throw new Error(`traces.headersFile: ${file}:${read.line} ${read.says}`)
  return read.headers
}
