/** Prints how many recorded exchanges of the newer contract the simulated cluster answers alike. */
import { readOptions } from '../../../../../test/support/script-options.ts'
import { explain } from './differences.ts'
import { replay } from './replay.ts'

const { values } = readOptions({
  name: 'check:recorded',
  purpose: 'Replays the recorded exchanges of the newer contract at the simulated cluster, and counts what differs.',
  options: { all: { kind: 'flag', meaning: 'also print each difference' } },
})
const { exchanges, differences, thrown } = await replay()
if (values.all) {
  for (const { line, request, texts } of differences) console.log(`${line} ${request}\n   ${texts.join('\n   ')}`)
}
for (const difference of differences) {
  if (explain(difference) === undefined) console.log(`not explained: ${difference.line} ${difference.request}`)
}
const byOperation = new Map<string, number>()
for (const { operation } of differences) byOperation.set(operation, (byOperation.get(operation) ?? 0) + 1)
for (const [operation, count] of byOperation) console.log(`${operation}: ${count}`)
for (const fault of thrown) console.log(fault)
console.log(`${exchanges - differences.length} of ${exchanges} exchanges agree`)
