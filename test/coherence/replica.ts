/** One replica of the real edge as a process, with something left out of its protocol where the test plants that. */
import { Writable } from 'node:stream'
import { buildEdge, type EdgeOptions } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import type { AnswerStore } from '../../src/pipeline/kept.ts'
import { isPlanted, planted } from './planted.ts'

const [file = '', fault = ''] = process.argv.slice(2)
const loaded = await loadConfig({ file, env: {} })
if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
const silent = new Writable({ write: (_line, _encoding, done) => done() })
const options: EdgeOptions & { aroundStore?: <S extends AnswerStore>(store: S) => S } = {
  logTo: silent,
  ...(isPlanted(fault) && { aroundStore: planted[fault] }),
}
const edge = await buildEdge(loaded.config, options)
await edge.start()
process.on('disconnect', () => process.exit())
process.send?.('ready')
