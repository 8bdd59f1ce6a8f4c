/**
 * Runs test files in one process, one after the other, as the suite names them. Each file has its own root test. What
 * a file leaves behind would reach the next one, so it is a failure of the file.
 */
// Before tap.
import './error-domains.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import t, { Test } from 'tap'
import type { Agent } from 'undici'

type TestOptions = NonNullable<ConstructorParameters<typeof Test>[0]>

export interface FileToRun {
  /** The compiled file. */
  readonly path: string
  readonly name: string
  /** Whether the file needs a process that runs no other file. */
  readonly isAlone: boolean
}

/** A message to the worker. */
interface Order extends FileToRun {
  /** How long the file may take to close what is open after its last test, such as sockets and processes. */
  readonly closeTimeoutMs: number
}

export interface Failure {
  /** The file, the titles of the tests around it, and its own. */
  readonly test: string
  /** What tap knows of it: position, source, difference. */
  readonly diagnostics?: Readonly<Record<string, unknown>> | null
}

export interface EndOfFile {
  readonly passed: number
  readonly failures: readonly Failure[]
  readonly rssBytes: number
}

/** A message of the worker: the test that has started, a failure, the end, or that tests have results. */
export type Report =
  | { readonly test: string }
  | { readonly failure: Failure }
  | { readonly end: EndOfFile }
  | Readonly<Record<string, never>>

const POLL_INTERVAL_MS = 5
const REPORT_INTERVAL_MS = 1000

/**
 * Bytes of executed code after which V8 considers a function for optimization: eight times the default. Most functions of a
 * test run seldom, and optimizing them takes a tenth of the CPU time of a worker.
 */
const INTERRUPT_BUDGET = 500_000

function report(message: Report): void {
  process.send?.(message)
}

/** Returns what keeps the process alive, and what the files of a worker share besides the modules. */
function stateOfProcess(isShared: boolean): string[] {
  const open = process.getActiveResourcesInfo().map((type) => `open ${type}`)
  if (!isShared) return open
  const variables = Object.entries(process.env).map(([name, value]) => `the variable ${name}=${value}`)
  // Modules listen to the end of the process once, for their child processes.
  const events = process.eventNames().filter((event) => !/^(exit|SIG.*)$/.test(String(event)))
  const listeners = events.map((event) => `${process.listenerCount(event)} listeners of ${String(event)}`)
  return [...open, ...variables, ...listeners, `the folder ${process.cwd()}`, `the exit code ${process.exitCode}`]
}

/** Waits until all is closed that would have kept a process of the file alive. Returns what is new since then. */
async function leftSince(before: readonly string[], isShared: boolean, timeoutMs: number): Promise<string[]> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const left = stateOfProcess(isShared)
    for (const each of before) {
      const at = left.indexOf(each)
      if (at >= 0) left.splice(at, 1)
    }
    if (left.length === 0 || performance.now() >= end) return left
    await delay(POLL_INTERVAL_MS)
  }
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

async function runFile({ path, name, isAlone, closeTimeoutMs }: Order): Promise<void> {
  const before = stateOfProcess(!isAlone)
  const options: TestOptions = { name, cb: () => import(pathToFileURL(path).href) }
  // A test derives the name of its folder of fixtures from the script. The first files of two workers must not share one.
  process.argv[1] = path
  const root = new Test(options)
  // See withOwnRoot() of compile.ts.
  t.context.root = root
  let hasFailed = false
  let reported = 0
  root.on('subtestStart', (test) => report({ test: `${name} > ${test.name}` }))
  root.parser.on('fail', ({ fullname, diag }) => {
    hasFailed = true
    report({ failure: { test: fullname, diagnostics: diag } })
  })
  root.parser.on('result', () => {
    if (performance.now() - reported < REPORT_INTERVAL_MS) return
    reported = performance.now()
    report({})
  })
  root.resume()
  // A file that ends the process ends its tests before: the parser reports the last assertion.
  const endEarly = () => root.endAll()
  process.once('exit', endEarly)
  const ended = new Promise<void>((resolve) => root.on('end', () => resolve()))
  root.runMain(() => {})
  await ended
  process.off('exit', endEarly)
  await closeFetch()
  const left = await leftSince(before, !isAlone, closeTimeoutMs)
  // Without a failed assertion: such as a wrong number of them.
  const errors = hasFailed ? [] : (root.results?.failures ?? [])
  const failures: Failure[] = [
    ...errors.map(({ tapError, fullname, diag }) => ({ test: [fullname, tapError].join(': '), diagnostics: diag })),
    ...left.map((what) => ({ test: `${name} > left ${what}` })),
  ]
  report({ end: { passed: root.counts.pass, failures, rssBytes: process.memoryUsage.rss() } })
}

// A version of V8 without this flag ignores it.
setFlagsFromString(`--interrupt-budget=${INTERRUPT_BUDGET}`)
// The suite has a limit for each file. That of the root test of tap would end the worker.
t.setTimeout(0)
process.on('message', (file: Order) => void runFile(file))
process.on('disconnect', () => process.exit())
