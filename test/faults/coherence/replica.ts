/** One replica of the real edge as a process. With a planted fault, a part of its store is left out. */
import { register } from 'node:module'
import { Writable } from 'node:stream'
import type * as App from '../../../src/app/index.ts'
import type * as Settings from '../../../src/config/index.ts'
import { runnableOf } from '../../support/typescript/script.ts'
import { edgeModule } from './built.ts'
import { reportMemory } from './memory-use.ts'
import { isPlanted } from './planted.ts'

const [file = '', fault = ''] = process.argv.slice(2)
if (isPlanted(fault)) plant()
// After the hook: an earlier import would have loaded the real store.
const { buildEdge } = (await import(edgeModule('app/index'))) as typeof App
const { loadConfig } = (await import(edgeModule('config/index'))) as typeof Settings
const loaded = await loadConfig({ file, env: {} })
if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
const silent = new Writable({ write: (_line, _encoding, done) => done() })
const edge = await buildEdge(loaded.config, { logTo: silent })
await edge.start()
reportMemory()
process.on('disconnect', () => process.exit())
process.send?.('ready')

/** The edge has no setting for this. The hook replaces the import of the store in `src/app`. */
function plant(): void {
  const other = runnableOf(new URL('./planted-store.ts', import.meta.url)).href
  const hook = `export async function resolve(specifier, context, next) {
    const here = /\\/(src|\\.compiled)\\/app\\b/.test(context.parentURL ?? '') && /\\/stores\\/redis-store\\.[jt]s$/.test(specifier)
    return next(here ? ${JSON.stringify(other)} : specifier, context)
  }`
  register(`data:text/javascript,${encodeURIComponent(hook)}`)
}
