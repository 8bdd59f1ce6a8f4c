/** An edge whose observers are told of no request, to measure what counting costs: a switch for it would serve nobody else. */
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const front = /\/app\/front\.js$/
const TOLD = 'observe: observer.answered,'

export async function load(url, context, next) {
  const loaded = await next(url, context)
  if (!front.test(url)) return loaded
  const source = String(loaded.source)
  if (!source.includes(TOLD)) throw new Error(`${url} tells its observers in another way`)
  return { ...loaded, source: source.replace(TOLD, '') }
}

// Loaded twice: as the program's import, and on the thread of the hooks.
if (isMainThread) register(import.meta.url)
