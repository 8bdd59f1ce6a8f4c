/**
 * Runs test files in one process, one after the other, as the suite names them. Each file has a root test of its own. What
 * a file leaves behind would reach the next one, so the worker reports it and the suite fails the file.
 */
// Before tap.
import './error-domains.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { inspect, isDeepStrictEqual } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import t, { Test } from 'tap'
import type { Agent } from 'undici'
import { cpuSeconds } from './costs.ts'
import { running } from './running.ts'

type TestOptions = NonNullable<ConstructorParameters<typeof Test>[0]>

/** A message to the worker. */
export interface FileToRun {
  /** The compiled file. */
  readonly path: string
  readonly name: string
  readonly timeoutMs: number
  /** How long a file may take to close what is open after its last test, such as sockets and children. */
  readonly closeTimeoutMs: number
}

export interface EndOfFile {
  /** What the file left behind: open handles, and changes of the process. */
  readonly leftovers: readonly string[]
  readonly rssBytes: number
  /** CPU time of the file and its child processes; the first file of a worker includes the start. */
  readonly cpuSeconds: number
}

/** A message of the worker: some text of the report in TAP, or the end of the file. */
export type Report = { readonly tap: string } | EndOfFile

const POLL_INTERVAL_MS = 5

/**
 * Bytes of executed code after which V8 considers a function for optimization: eight times the default. Most functions of a
 * test run seldom, and optimizing them takes a tenth of the CPU time of a worker.
 */
const INTERRUPT_BUDGET = 500_000

function report(message: Report): void {
  process.send?.(message)
}

/** A file that ends its process loses at most the text of this time. */
const BATCH_MS = 50

/** Sends the text of the report in few messages: tap emits each line, and a message costs more than to run an assertion. */
function reportInBatches(): { readonly write: (text: string) => void; readonly flush: () => void } {
  let batch = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (batch !== '') report({ tap: batch })
    batch = ''
  }
  const write = (text: string) => {
    batch += text
    // The timer keeps no file open.
    timer ??= setTimeout(flush, BATCH_MS).unref()
  }
  return { write, flush }
}

/** What all files of a worker share, besides the modules. Modules listen to the end of the process once, for their children. */
function processState() {
  const events = process.eventNames().filter((event) => !/^(exit|SIG.*)$/.test(String(event)))
  return {
    environment: { ...process.env },
    folder: process.cwd(),
    exitCode: process.exitCode,
    listeners: events.map((event) => `${String(event)}: ${process.listenerCount(event)}`),
  }
}

type ProcessState = ReturnType<typeof processState>

function changesSince(before: ProcessState): string[] {
  const after = processState()
  const names = Object.keys(before) as (keyof ProcessState)[]
  const changed = names.filter((name) => !isDeepStrictEqual(before[name], after[name]))
  return changed.map(
    (name) => `changed ${name} of the process from ${inspect(before[name])} to ${inspect(after[name])}`,
  )
}

/** Returns the types of handles, requests and timers that have kept the process alive since then. */
function openedSince(before: readonly string[]): string[] {
  const open = process.getActiveResourcesInfo()
  for (const type of before) {
    const at = open.indexOf(type)
    if (at >= 0) open.splice(at, 1)
  }
  return open.map((type) => `open ${type}`)
}

/** Waits until all is closed that would have kept a process of the file alive. Returns what still is open at the end. */
async function openAtEnd(before: readonly string[], timeoutMs: number): Promise<string[]> {
  const end = performance.now() + timeoutMs
  let open = openedSince(before)
  while (open.length > 0 && performance.now() < end) {
    await delay(POLL_INTERVAL_MS)
    open = openedSince(before)
  }
  return open
}

/** The agent of `fetch`, which Node.js and the library undici share. */
const FETCH_AGENT = Symbol.for('undici.globalDispatcher.1')

/** Closes the connections of `fetch`, as the end of a process does: also those with a response that no test has read. */
async function closeFetch(): Promise<void> {
  const agent: Agent | undefined = Reflect.get(globalThis, FETCH_AGENT)
  if (agent === undefined) return
  const AgentClass = agent.constructor as new () => Agent
  Reflect.set(globalThis, FETCH_AGENT, new AgentClass())
  await agent.destroy()
}

/** At the end of the last file. */
let cpuSecondsBefore = 0

async function runFile({ path, name, timeoutMs, closeTimeoutMs }: FileToRun): Promise<void> {
  const state = processState()
  const resources = process.getActiveResourcesInfo()
  const options: TestOptions = { name, cb: () => import(pathToFileURL(path).href) }
  // A test derives the name of its folder of fixtures from the script. The first files of two workers must not share one.
  process.argv[1] = path
  const root = new Test(options)
  running.root = root
  const ended = new Promise<void>((resolve) => root.on('end', () => resolve()))
  const output = reportInBatches()
  root.on('data', output.write)
  root.runMain(() => {})
  root.setTimeout(timeoutMs)
  await ended
  // tap leaves the timer, which would report the file once more.
  root.setTimeout(0)
  running.root = undefined
  await closeFetch()
  const leftovers = [...(await openAtEnd(resources, closeTimeoutMs)), ...changesSince(state)]
  output.flush()
  const cpu = cpuSeconds() ?? 0
  report({ leftovers, rssBytes: process.memoryUsage.rss(), cpuSeconds: cpu - cpuSecondsBefore })
  cpuSecondsBefore = cpu
}

// A version of V8 without this flag ignores it.
setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`)
// Each file has its own time limit. That of the root test, which the modules of all files share, would end the worker.
t.setTimeout(0)
process.on('message', (file: FileToRun) => void runFile(file))
process.on('disconnect', () => process.exit())
