import { expect } from 'chai';

import { Tickets } from '#services/metadata/tickets';
import { ManualClock } from '#test/support/manual-clock';

describe('tickets of metadata', () => {
  const ticket = { hash: 'a', targetHash: 't', user: 'u', tokenHash: '', verifierHash: '' };

  it('end after a minute, or when they are redeemed', async () => {
    const clock = new ManualClock();
    const tickets = new Tickets(clock);
    tickets.issue(ticket);
    expect(tickets.redeem({ hash: 'a' }).ticket).to.deep.equal(ticket);
    expect(tickets.redeem({ hash: 'a' }).ticket).to.equal(undefined);
    tickets.issue(ticket);
    await clock.advance(59_999);
    tickets.issue({ ...ticket, hash: 'b' });
    await clock.advance(1);
    expect(tickets.redeem({ hash: 'a' }).ticket).to.equal(undefined);
    expect(tickets.redeem({ hash: 'b' }).ticket?.hash).to.equal('b');
  });

  it('are limited for a user and in all, and free again after a minute', async () => {
    const clock = new ManualClock();
    const tickets = new Tickets(clock);
    const issue = (user: string, i: number): unknown => tickets.issue({ ...ticket, user, hash: `${user}.${i}` });
    for (let i = 0; i < 100; i++) issue('u', i);
    expect(() => issue('u', 100)).to.throw('too many tickets');
    for (let user = 0; user < 99; user++) for (let i = 0; i < 100; i++) issue(`u${user}`, i);
    expect(() => issue('last', 0)).to.throw('too many tickets');
    await clock.advance(60_000);
    issue('u', 100);
    issue('last', 0);
  });
});
