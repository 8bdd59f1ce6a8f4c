/** Runs the edge without the listeners of request events, to measure the cost of counting and showing each request. */
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

/** The file of the build that contains `telemetry/events.ts`. */
const PROGRAM = /\/program\/app\.js$/
const EMIT = 'request: requests.add,'

export async function load(url, context, next) {
  const loaded = await next(url, context)
  if (!PROGRAM.test(url)) return loaded
  const source = String(loaded.source)
  if (!source.includes(EMIT)) throw new Error(`${url} emits request events in another way: adapt this hook`)
  return { ...loaded, source: source.replace(EMIT, 'request: () => undefined,') }
}

// This module is loaded twice: as the import of the program, and in the thread of the hooks.
if (isMainThread) register(import.meta.url)
