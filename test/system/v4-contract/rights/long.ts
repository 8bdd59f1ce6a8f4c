/** The matrix of users with all reads for each of them. */
import { readOptions } from '../../../support/script-options.ts'
import { runMatrix } from './matrix.ts'

const { values } = readOptions({
  name: 'check:rights',
  purpose:
    'Compares the response of two replicas to each read of the v4 contract with what the node gives that user, for random policies in both modes.',
  options: {
    seed: { kind: 'number', meaning: 'of the random policies; default: the time' },
    policies: { kind: 'number', meaning: 'number of policies; default: 40' },
    reads: { kind: 'number', meaning: 'reads of each user; default: all' },
  },
})
const { seed = Date.now() % 1_000_000, policies = 40, reads } = values
console.log(`seed ${seed}`)
const result = await runMatrix({ seed, policies, ...(reads !== undefined && { readsPerUser: reads }) })
const { differences, ...figures } = result
for (const difference of differences.slice(0, 100)) console.log(difference)
console.log(JSON.stringify(figures))
console.log(`${differences.length} differences`)
process.exit(differences.length === 0 ? 0 : 1)
