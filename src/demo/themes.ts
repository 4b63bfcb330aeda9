/** The demo's kinds of questions, each with the one answer that is right. */
import type { Random } from '../clock.ts'
import { pick, several, upTo, whole } from './draw.ts'
import { days, months, names, terms, things, towns } from './words.ts'

export interface Exchange {
  readonly question: string
  readonly answer: string
}

/** A kind of question; drawn anew each time. */
export type Theme = (random: Random) => Exchange

const words = Object.keys(terms)

/** What the drafter is trained on. */
export const themes = {
  sum(random: Random): Exchange {
    const [a, b] = [whole(random, 2, 20), whole(random, 2, 20)]
    return { question: `What is ${a} + ${b}?`, answer: `${a} + ${b} = ${a + b}.` }
  },
  product(random: Random): Exchange {
    const [a, b] = [whole(random, 2, 12), whole(random, 2, 12)]
    return { question: `What is ${a} times ${b}?`, answer: `${a} times ${b} is ${a * b}.` }
  },
  count(random: Random): Exchange {
    const from = whole(random, 1, 60)
    const to = from + whole(random, 4, 24)
    return { question: `Count from ${from} to ${to}.`, answer: `${upTo(from, to).join(', ')}.` }
  },
  multiples(random: Random): Exchange {
    const [of, count] = [whole(random, 2, 12), whole(random, 4, 10)]
    const found = upTo(1, count).map((i) => i * of)
    return {
      question: `List the first ${count} multiples of ${of}.`,
      answer: `${found.join(', ')}.`,
    }
  },
  squares(random: Random): Exchange {
    const to = whole(random, 3, 9)
    const lines = upTo(1, to).map((i) => `${i} squared is ${i * i}`)
    return { question: `Square the numbers up to ${to}.`, answer: `${lines.join('; ')}.` }
  },
  repeat(random: Random): Exchange {
    const [word, times] = [pick(random, words), whole(random, 2, 9)]
    const answer = `${upTo(1, times)
      .map(() => word)
      .join(' ')}.`
    return { question: `Say "${word}" ${times} times.`, answer }
  },
  compare(random: Random): Exchange {
    const smaller = whole(random, 1, 98)
    const larger = whole(random, smaller + 1, 99)
    const [first, second] = random() < 0.5 ? [smaller, larger] : [larger, smaller]
    return {
      question: `Which is larger, ${first} or ${second}?`,
      answer: `${larger} is larger.`,
    }
  },
  meaning(random: Random): Exchange {
    const [word, meaning] = pick(random, Object.entries(terms))
    return { question: `In Draftsmith, what does "${word}" mean?`, answer: meaning }
  },
  backwards(random: Random): Exchange {
    const word = pick(random, words)
    return {
      question: `Spell "${word}" backwards.`,
      answer: `${[...word].reverse().join('-')}.`,
    }
  },
  capitals(random: Random): Exchange {
    const word = pick(random, words)
    return { question: `Write "${word}" in capitals.`, answer: `${word.toUpperCase()}.` }
  },
  tomorrow(random: Random): Exchange {
    const day = whole(random, 0, 6)
    const after = days[(day + 1) % 7]
    return {
      question: `Today is ${days[day]}. What is tomorrow?`,
      answer: `Today is ${days[day]}, so tomorrow is ${after}.`,
    }
  },
  home(random: Random): Exchange {
    const [name, town] = [pick(random, names), pick(random, towns)]
    return {
      question: `I am ${name} from ${town}. Greet me.`,
      answer: `Hello ${name}, how is the weather in ${town} today?`,
    }
  },
  shopping(random: Random): Exchange {
    const [name, thing] = [pick(random, names), pick(random, things)]
    const [a, b] = [whole(random, 2, 20), whole(random, 2, 20)]
    const sum = `${a + b} ${thing}`
    return {
      question: `${name} has ${a} ${thing} and buys ${b} more. How many now?`,
      answer: `${name} had ${a} ${thing} and bought ${b} more, so now ${name} has ${sum}.`,
    }
  },
  note(random: Random): Exchange {
    const [name, word] = [pick(random, names), pick(random, words)]
    return {
      question: `Write ${name} a note about the ${word}.`,
      answer: `Dear ${name}, please have a look at the ${word}. ${terms[word]} Thank you!`,
    }
  },
  list(random: Random): Exchange {
    const chosen = several(random, names, whole(random, 2, 5))
    const lines = chosen.map((name, i) => `${i + 1}. ${name}`)
    return { question: `Number these: ${chosen.join(', ')}.`, answer: `${lines.join(' ')}` }
  },
}

/** What the drafter never sees, and its target knows as well as the rest. */
export const heldOutThemes = {
  countDown(random: Random): Exchange {
    const to = whole(random, 1, 60)
    const from = to + whole(random, 4, 20)
    const answer = `${upTo(to, from).reverse().join(', ')}.`
    return { question: `Count down from ${from} to ${to}.`, answer }
  },
  spell(random: Random): Exchange {
    const word = pick(random, words)
    return { question: `Spell "${word}".`, answer: `${[...word].join('-')}.` }
  },
  yesterday(random: Random): Exchange {
    const month = whole(random, 0, 11)
    const before = months[(month + 11) % 12]
    return {
      question: `It is ${months[month]}. Which month was before?`,
      answer: `Before ${months[month]} it was ${before}.`,
    }
  },
  record(random: Random): Exchange {
    const [name, town, age] = [pick(random, names), pick(random, towns), whole(random, 2, 99)]
    return {
      question: `Write as JSON: ${name}, ${age}, ${town}.`,
      answer: `{"name": "${name}", "age": ${age}, "town": "${town}"}`,
    }
  },
}
