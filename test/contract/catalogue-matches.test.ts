import t from 'tap'
import { catalogue } from '../../src/contracts/index.ts'
import { contract, contractFacts, differences, idOf, joined, recordFacts, validatorFacts } from './facts.ts'
import { intended, means } from './intended.ts'

const validators = validatorFacts()
const seed = catalogue.filter((endpoint) => !endpoint.beyondSeed)
const theirs = joined([...contract.endpoints.map(contractFacts), validators.theirs])
const ours = joined([...seed.map(recordFacts), validators.ours])
const found = differences(theirs, ours)

t.test('every endpoint of the contract has a record, and additional records are marked', async (t) => {
  const described = contract.endpoints.map(idOf)
  const recorded = catalogue.map(idOf)
  t.equal(described.length, 132)
  t.strictSame(
    described.filter((id) => !recorded.includes(id)),
    [],
    'none is missing',
  )
  // Real clients use some of them; tokens, the explanation of the cache and requests to several nodes are features of the edge.
  t.strictSame(
    recorded.filter((id) => !described.includes(id)),
    catalogue.filter(({ beyondSeed }) => beyondSeed).map(idOf),
    'each record in src/contracts that the contract lacks is marked with beyondSeed, an entry of inventories.ts with hidden',
  )
})

t.test('records match the contract except for the intended differences', async (t) => {
  t.ok(theirs.size > 1000, `${theirs.size} facts compared`)
  for (const one of found) {
    const meant = intended.some((difference) => means(difference, one))
    t.ok(meant, `${one.where}: contract ${one.theirs}, record ${one.ours}`)
  }
})

t.test('every intended difference still occurs', async (t) => {
  for (const difference of intended) {
    const times = found.filter((one) => means(difference, one)).length
    t.equal(times, difference.times, difference.reason)
  }
})
