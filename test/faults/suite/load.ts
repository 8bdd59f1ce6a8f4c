/** Loads over HTTP whose every response is verified: with a fixed rate, or with a fixed number of clients. */
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, Client, type Dispatcher } from 'undici'
import type { StarvationMeter } from './starvation.ts'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** Milliseconds from the request to the last byte. */
  readonly ms: number
}

export interface Call {
  readonly origin: string
  readonly path: string
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Names the calls that are measured together. */
  readonly kind?: string
  /** Returns what is wrong with the response. Default: its status is 200 and its error 0. */
  readonly verify?: (reply: Reply) => string | undefined
}

export interface Sample {
  readonly kind: string
  readonly path: string
  /** Of the clock of `performance.now()`. */
  readonly begin: number
  readonly ms: number
  /** Milliseconds of these in which one of the processes had no processor; absent if not measured. */
  readonly starved?: number
  /** 0: no complete response. */
  readonly status: number
  readonly hit: boolean
  readonly failure?: string
}

export interface Phase {
  readonly requests: number
  /** Wrong or missing responses. */
  readonly failures: readonly string[]
  readonly hits: number
  /** Milliseconds, without those in which one of the processes had no processor. */
  readonly p50: number
  readonly p99: number
  readonly samples: readonly Sample[]
  of(kind: string): Phase
}

/** Returns what is wrong with a response that should carry data. */
export function verifyData({ status, text }: Reply): string | undefined {
  return status === 200 && text.startsWith('{"error":0') ? undefined : `${status} ${text.slice(0, 200)}`
}

export async function send(call: Call, dispatcher: Dispatcher): Promise<Sample & { readonly reply?: Reply }> {
  const { origin, path, method = 'GET', kind = 'read', verify = verifyData } = call
  const begin = performance.now()
  try {
    const headers = { ...call.headers, ...(call.body !== undefined && { 'content-type': 'application/json' }) }
    const response = await dispatcher.request({ origin, path, method, headers, body: call.body ?? null })
    const text = await response.body.text()
    const ms = performance.now() - begin
    const reply = { status: response.statusCode, headers: response.headers, text, ms }
    const failure = verify(reply)
    const hit = /;\s*hit\b/.test(String(reply.headers['cache-status'] ?? ''))
    return { kind, path, begin, ms, status: reply.status, hit, reply, ...(failure !== undefined && { failure }) }
  } catch (fault) {
    const { code = '', message } = fault as NodeJS.ErrnoException
    const failure = `${method} ${path}: ${code} ${message}`
    return { kind, path, begin, ms: performance.now() - begin, status: 0, hit: false, failure }
  }
}

/** Returns the milliseconds of a request, without those in which one of the processes had no processor. */
export function durationOf({ ms, starved = 0 }: Sample): number {
  return Math.max(0, ms - starved)
}

/** Adds to each sample its time without a processor. */
export function withStarvation<S extends Sample>(
  samples: readonly S[],
  meter: StarvationMeter | undefined,
): readonly S[] {
  if (meter === undefined) return samples
  return samples.map((sample) => ({ ...sample, starved: meter.within(sample.begin, sample.begin + sample.ms) }))
}

export function phaseOf(samples: readonly Sample[]): Phase {
  const sorted = samples.map(durationOf).sort((a, b) => a - b)
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
  return {
    requests: samples.length,
    failures: samples.flatMap(({ failure }) => failure ?? []),
    hits: samples.filter(({ hit }) => hit).length,
    p50: at(0.5),
    p99: at(0.99),
    samples,
    of: (kind) => phaseOf(samples.filter((sample) => sample.kind === kind)),
  }
}

export interface RunningLoad {
  /** Begins another phase. A request belongs to the phase in which it began. */
  phase(name: string): void
  /** Returns the present phase so far. */
  current(): Phase
  /** Ends the load. Resolves with all phases when every request has its response. */
  stop(): Promise<Readonly<Record<string, Phase>>>
}

const TICK_MS = 10
export const TIMEOUTS = { headersTimeout: 60_000, bodyTimeout: 60_000 }

/** Sends `rate` requests per second, whether or not earlier ones have been answered. */
export function startSteadyLoad(options: { rate: number; draw: () => Call; meter?: StarvationMeter }): RunningLoad {
  const { rate, draw, meter } = options
  const agent = new Agent({ pipelining: 1, ...TIMEOUTS })
  const log = createLog(meter)
  const pending = new Set<Promise<void>>()
  let owed = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    // After this process was blocked, the missed requests must not be sent in one burst.
    owed = Math.min(owed + ((now - last) * rate) / 1000, Math.max(1, rate / 10))
    last = now
    for (; owed >= 1; owed -= 1) {
      const one = log.record(send(draw(), agent))
      pending.add(one)
      void one.finally(() => pending.delete(one))
    }
  }, TICK_MS)
  return log.running(async () => {
    clearInterval(timer)
    await Promise.all(pending)
    await agent.destroy()
  })
}

/** Keeps one connection per client, each with one request at a time; together they send at most `rate` per second. */
export function startClients(options: {
  clients: number
  rate: number
  origin: string
  draw: () => Call
}): RunningLoad {
  const { clients, rate, origin, draw } = options
  const log = createLog()
  const interval = (1000 * clients) / rate
  let over = false
  const run = async (at: number): Promise<void> => {
    const client = new Client(origin, { pipelining: 1, ...TIMEOUTS })
    await pause((interval * at) / clients)
    while (!over) {
      const begin = performance.now()
      await log.record(send(draw(), client))
      await pause(Math.max(0, interval - (performance.now() - begin)))
    }
    await client.destroy()
  }
  const finished = Promise.all(Array.from({ length: clients }, (_, at) => run(at)))
  return log.running(async () => {
    over = true
    await finished
  })
}

function createLog(meter?: StarvationMeter) {
  const phases = new Map<string, Sample[]>()
  let samples: Sample[] = []
  return {
    async record(sending: Promise<Sample & { reply?: Reply }>): Promise<void> {
      const into = samples
      const { reply: _, ...sample } = await sending
      into.push(sample)
    },
    running: (end: () => Promise<void>): RunningLoad => ({
      phase(name) {
        samples = []
        phases.set(name, samples)
      },
      current: () => phaseOf(samples),
      async stop() {
        await end()
        return Object.fromEntries([...phases].map(([name, each]) => [name, phaseOf(withStarvation(each, meter))]))
      },
    }),
  }
}
