/** What one read of a client costs in front of nodes of the v3 layout. */
import t from 'tap'
import { provePrices } from './prices-proof.ts'
import { ways } from './read-prices.ts'

for (const way of ways.filter(({ layout }) => layout === 'v3'))
  t.test(`${way.name}: no read of a client costs more`, (t) => provePrices(t, way))
