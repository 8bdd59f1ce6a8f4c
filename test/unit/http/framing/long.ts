/**
 * Compares random streams to the HTTP server of an edge and to a plain `node:http` server with the same framing rules
 * (`npm run check:framing`). Stream n of a run has the seed of the run plus n.
 */
import { readOptions } from '../../../support/script-options.ts'
import { compareStreams, FAULTS } from './compare.ts'

const { values, refuse } = readOptions({
  name: 'check:framing',
  purpose: 'Compares the responses to random streams of bytes with those of a plain node:http server.',
  options: {
    streams: { kind: 'number', meaning: 'number of streams (default 20000)' },
    seed: { kind: 'number', meaning: 'the seed of a run (default: random)' },
    planted: { kind: 'text', value: 'FAULT', meaning: `plants a fault, which must be found: ${FAULTS.join(', ')}` },
  },
})
const { streams = 20_000, seed = Math.trunc(Math.random() * 2 ** 31) } = values
const planted = FAULTS.find((fault) => fault === values.planted)
if (values.planted !== undefined && planted === undefined) refuse(`--planted must be one of ${FAULTS.join(', ')}`)

const begin = performance.now()
console.log(`seed ${seed}, Node ${process.version}`)
const onProgress = (done: number) => console.log(`${done} streams`)
const found = await compareStreams({ streams, seed, onProgress, ...(planted && { planted }) })
for (const { stream, edge, oracle } of found.differences.slice(0, 10)) {
  const sent = stream.chunks.map(({ bytes }) => `  ${JSON.stringify(bytes.toString('latin1'))}`).join('\n')
  console.log(`DIFFERENCE, seed ${stream.seed}, ${stream.ending}\n${sent}`)
  console.log(`  edge: ${edge.join(', ')}\n  node:http: ${oracle.join(', ')}`)
}
const { responses, rejections, differences } = found
const seconds = ((performance.now() - begin) / 1000).toFixed(0)
const counts = `${responses} responses, ${rejections} of them rejections`
console.log(`${streams} streams in ${seconds} s, ${counts}, seed ${seed}: ${differences.length} differences`)
process.exit(differences.length === 0 ? 0 : 1)
