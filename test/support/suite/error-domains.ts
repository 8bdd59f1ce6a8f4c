/**
 * Lets tap find the test of an uncaught error without async hooks. With them, Node.js tracks each promise and each socket of
 * a file until the garbage collector has found it, which took an eighth of the CPU time of the workers. Without them, an error
 * belongs to the test that has started last and has not ended: a worker runs one file at a time, and a file one test at a
 * time. Files with async hooks have their own processes.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module'

type AsyncHooks = typeof import('node:async_hooks')

const hooks: Partial<AsyncHooks> = createRequire(import.meta.url)('node:async_hooks')
const noHook: ReturnType<AsyncHooks['createHook']> = { enable: () => noHook, disable: () => noHook }

// tap keeps its stack of tests by the id of the running operation. One id for all operations makes it one stack.
Object.assign(hooks, { createHook: () => noHook, executionAsyncId: () => 1 } satisfies Partial<AsyncHooks>)
syncBuiltinESMExports()
