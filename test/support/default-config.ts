/** The settings that an edge has without a file, for tests that need some of them. */
import { type Config, schema } from '../../src/config/schema.ts'
import { parseValues, validate } from '../../src/config/validate.ts'

const written = {}
validate(written)
export const defaultConfig = parseValues(schema, written, () => '/') as Config
