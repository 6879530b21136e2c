package egress

import (
	"net"
	"os"
	"time"

	"loci/sandbox/frame"
)

// newDoor takes the daemon's end of a door, which it closes.
func newDoor(end *os.File) (*door, error) {
	conn, err := frame.Conn(end)
	if err != nil {
		return nil, err
	}
	return &door{conn: conn}, nil
}

// answerTime is how long the first process of a sandbox may take to connect.
const answerTime = 10 * time.Second

// knock asks for a connection to a port of the job. A door that did not answer stays shut: its answer would be taken for that to
// the next question.
func (d *door) knock(port uint16) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	answered := false
	defer func() {
		if !answered {
			d.close()
		}
	}()
	if err := d.conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return nil, err
	}
	if err := frame.Send(d.conn, frame.Knock{Port: port}); err != nil {
		return nil, err
	}
	var answer frame.Knocked
	files, err := frame.Receive(d.conn, &answer)
	if err != nil {
		return nil, err
	}
	answered = true
	defer frame.Close(files...) // the connection has a copy
	if answer.Errno != 0 || len(files) != 1 {
		return nil, errShut
	}
	return net.FileConn(files[0])
}
