import io.delta.storage.HDFSLogStore;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** A log store whose commits can be held, before they are in the log or when they just have got there. */
public class HoldingLogStore extends HDFSLogStore {
    private static final Object ONE_AT_A_TIME = new Object();

    public HoldingLogStore(Configuration conf) {
        super(conf);
    }

    public void write(Path path, Iterator actions, Boolean overwrite, Configuration conf) throws IOException {
        List lines = new ArrayList();
        while (actions.hasNext()) {
            lines.add(actions.next());
        }
        // A note is JSON within JSON: without its escapes it reads as it was written.
        String content = lines.toString().replace("\\", "");
        String holds = conf.get(Holds.FOLDER);
        Holds.at(holds, "before_commit", path.toString(), content);
        synchronized (ONE_AT_A_TIME) {
            super.write(path, lines.iterator(), overwrite, conf);
        }
        Holds.at(holds, "after_commit", path.toString(), content);
    }
}
