/** The rules that give roles to an authorisation context: `{"AND": [{"FIND": {"name": "r'^an'"}}, {"NOT": …}]}`. */

type Json = unknown
type Members = Readonly<Record<string, Json>>

/** Whether a rule holds for a context. An unknown operator never holds. */
export function ruleHolds(rule: Members, context: Members): boolean {
  return Object.entries(rule).every(([operator, operand]) => {
    if (operator === 'AND') return Array.isArray(operand) && operand.every((one) => ruleHolds(one as Members, context))
    if (operator === 'OR') return Array.isArray(operand) && operand.some((one) => ruleHolds(one as Members, context))
    if (operator === 'NOT') return isMembers(operand) && !ruleHolds(operand, context)
    if (!isMembers(operand)) return false
    const exact = operator.endsWith('$')
    if (operator === 'MATCH' || operator === 'MATCH$') return matches(operand, context, exact)
    return (operator === 'FIND' || operator === 'FIND$') && finds(operand, context, exact)
  })
}

/** Whether the members are in the context itself. */
function matches(wanted: Members, context: Members, exact: boolean): boolean {
  if (exact && Object.keys(wanted).length !== Object.keys(context).length) return false
  return Object.entries(wanted).every(([name, value]) =>
    Object.entries(context).some(([found, other]) => textMatches(name, found) && valueMatches(value, other, exact)),
  )
}

/** Whether the members are in the context, or in an object at any depth of it. */
function finds(wanted: Members, context: Members, exact: boolean): boolean {
  if (matches(wanted, context, exact)) return true
  return Object.values(context).some((inner) => {
    if (Array.isArray(inner)) return inner.some((one) => isMembers(one) && finds(wanted, one, exact))
    return isMembers(inner) && finds(wanted, inner, exact)
  })
}

function valueMatches(wanted: Json, found: Json, exact: boolean): boolean {
  if (isMembers(wanted)) return isMembers(found) && matches(wanted, found, exact)
  if (Array.isArray(wanted)) {
    const others = Array.isArray(found) ? found : [found]
    if (exact && others.length !== wanted.length) return false
    return wanted.every((one) => others.some((other) => valueMatches(one, other, exact)))
  }
  if (Array.isArray(found)) return !exact && found.some((other) => valueMatches(wanted, other, exact))
  return typeof wanted === 'string' ? textMatches(wanted, String(found)) : wanted === found
}

/** `r'…'` is a pattern that begins at the start of the text. */
function textMatches(wanted: string, found: string): boolean {
  const [, pattern] = /^r'(.*)'$/s.exec(wanted) ?? []
  if (pattern === undefined) return wanted === found
  try {
    return new RegExp(`^(?:${pattern})`).test(found)
  } catch {
    return false
  }
}

function isMembers(value: Json): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const OPERATORS = new Set(['AND', 'OR', 'NOT', 'FIND', 'FIND$', 'MATCH', 'MATCH$'])

/** Whether a rule has known operators only. */
export function isRule(rule: Json): rule is Members {
  if (!isMembers(rule)) return false
  return Object.entries(rule).every(([operator, operand]) => {
    if (!OPERATORS.has(operator)) return false
    if (operator === 'AND' || operator === 'OR') return Array.isArray(operand) && operand.every(isRule)
    return isMembers(operand)
  })
}
