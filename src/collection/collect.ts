/**
 * Answers a collection request over the rows of a source, as the manager does and rightly where it does
 * not (docs/collection-choices.md): filters, search and `q` narrow, the order is total and stable,
 * `select` picks, the page is cut last.
 *
 * `rows` are in the source's own order and are left untouched; items are new objects only where `select`
 * or nesting changes them. Throws CollectionError with the code that the manager answers. Sources of the
 * real system stand ready in sources.ts; `readRequest` makes a request out of query texts.
 *
 * @example collect(agents, readRequest({ limit: '10', sort: '-id' }, now), sources.agents)
 */
import type { Collected, CollectionRequest, Element, Source } from './source.ts'

export type Collect = (rows: readonly Element[], request: CollectionRequest, source: Source) => Collected
