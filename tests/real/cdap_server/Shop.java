import co.cask.cdap.api.app.AbstractApplication;
import co.cask.cdap.api.service.http.AbstractHttpServiceHandler;
import co.cask.cdap.api.service.http.HttpServiceRequest;
import co.cask.cdap.api.service.http.HttpServiceResponder;
import co.cask.cdap.api.worker.AbstractWorker;
import javax.ws.rs.GET;
import javax.ws.rs.Path;

/** An application with two programs, which does nothing. */
public final class Shop extends AbstractApplication {
  @Override
  public void configure() {
    setName("shop");
    addService("web", new Web());
    addWorker(new Clerk());
  }

  public static final class Web extends AbstractHttpServiceHandler {
    @GET
    @Path("ping")
    public void ping(HttpServiceRequest request, HttpServiceResponder responder) {
      responder.sendStatus(200);
    }
  }

  public static final class Clerk extends AbstractWorker {
    @Override
    protected void configure() {
      setName("clerk");
    }

    @Override
    public void run() { }
  }
}
